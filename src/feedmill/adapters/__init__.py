"""Each file uses one technology. It implements a port and imports the model and the core only."""
