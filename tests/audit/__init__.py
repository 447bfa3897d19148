"""What is known of the packages that are locked: ``make audit``."""
