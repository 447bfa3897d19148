"""Turns documents' bytes into text, in processes of its own.

The way of a document: ``pool`` takes the task, writes it to the pipe of a ``hand`` (one worker seen from outside), the ``worker``
process reads it, ``extract`` sniffs what it is and calls the reader of that format, and the answer travels back. Workers are forked
by the ``forkserver`` process, which has loaded everything that is slow to load and never sees a document.
"""
