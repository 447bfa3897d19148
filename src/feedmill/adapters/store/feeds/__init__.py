"""Feeds and the progress of the queues, in SQL."""
