"""Reads configurations that administrators exported from the old appliance's console."""
