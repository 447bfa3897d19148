"""Turns documents' bytes into text, in separate processes.

``pool`` takes a task and writes it to the pipe of a ``workerhandle`` (one worker seen from outside). The ``worker`` process reads it,
``extract`` detects its type and calls the reader of that format, and the answer goes back. The ``forkserver`` process forks the workers.
It has loaded everything that is slow to load and never sees a document.
"""
