"""A controller that stays up, and clients of it in other processes: messages, connections, and who may connect."""
