"""The ASGI shell: one application a port, each handler a few named steps around a service."""
