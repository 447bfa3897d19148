"""The ASGI applications: one for each port. Each handler is a few named steps around a service."""
