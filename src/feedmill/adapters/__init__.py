"""One technology a file; each fills a port and knows the model and the core only."""
