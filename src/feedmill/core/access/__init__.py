"""Access: principals, groups, classes, the reference evaluator and its fast twin."""
