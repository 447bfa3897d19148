"""Asking a connector manager who may see documents: XML over HTTP."""
