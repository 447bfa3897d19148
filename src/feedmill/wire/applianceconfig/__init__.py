"""What administrators exported from the old appliance's console, as settings."""
