"""Pure functions on the model: no clock, disk, socket, environment or log."""
