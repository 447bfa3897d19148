"""Worker processes that extract texts, forked from a process that has everything loaded."""
