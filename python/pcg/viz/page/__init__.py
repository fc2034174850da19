"""HTML pages: of a plan, its rules and its program before and after with its layouts; of what devices do when."""
