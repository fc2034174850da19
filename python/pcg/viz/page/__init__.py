"""The HTML page about a plan: rules that were applied, and the program before and after, with its layouts."""
