"""ACLs, access classes and policy ACLs, in SQL."""
