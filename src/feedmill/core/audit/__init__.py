"""How is a line of the audit log written, and its chain of hashes checked?"""
