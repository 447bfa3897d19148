"""Documents that nobody here wrote, fed to a server as a user would: ``make test-real``."""
