"""Programs on islands: from calls on slices to a stream of instructions per island."""
