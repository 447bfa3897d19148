"""Reads documents out of files of other programs, for ``make-feed``: CSV, JSON lines, sitemaps, mbox.

Each reader goes through a stream once, with one document in memory. What costs one document is yielded as a ``SkippedRecord`` with its
place; what makes the file unreadable raises BadRequest with the place.
"""
