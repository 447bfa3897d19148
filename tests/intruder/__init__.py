"""Hostile code for the tests of the sandbox."""
