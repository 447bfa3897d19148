"""The verbs of the appliance; each works on ports alone, but for ``feeds.feedmaking``, whose work is a folder on the disk."""
