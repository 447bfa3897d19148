"""The verbs of the appliance; each works on ports alone."""
