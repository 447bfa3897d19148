"""Frozen values that every part of the house speaks in; standard library only, no behaviour beyond their own consistency."""
