"""Queries to a connector manager about access to documents: XML over HTTP."""
