"""Documents, their links, index tasks and failures, in SQL."""
