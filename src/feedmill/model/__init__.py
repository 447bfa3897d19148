"""Frozen values that every part of the program uses; standard library only, no behaviour beyond their own consistency."""
