"""Documents from outside this project, fed to a server as a user would: ``make test-real``."""
