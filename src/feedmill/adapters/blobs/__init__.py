"""Bytes by reference."""
