"""Worker processes that extract texts. They are forked from a process that has loaded everything."""
