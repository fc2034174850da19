"""Why a placed program moves what it moves: which decision, of whom, caused each collective."""
