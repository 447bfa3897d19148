"""Tests of a server as a process, over its ports alone."""
