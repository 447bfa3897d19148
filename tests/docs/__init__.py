"""Tests that compare the manual with the program."""
