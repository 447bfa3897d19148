"""Builders of values for tests: each value is valid as it is, and keywords change it. A builder asserts nothing."""
