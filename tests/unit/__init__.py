"""Tests of single modules, without I/O."""
