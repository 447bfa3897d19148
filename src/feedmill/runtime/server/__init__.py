"""Runs ASGI applications on the listening sockets of a role, by uvicorn."""
