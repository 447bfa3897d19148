"""Search results on their way out, one module a format."""
