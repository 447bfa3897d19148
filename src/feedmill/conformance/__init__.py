"""The conformance kit: runs the cases of the protocols against a server, over its ports alone, and counterparts for authors of clients.

``gsa``, ``dataload`` and ``seedlist`` hold the cases of a protocol, each with the document that it comes from. ``counterparts`` are
servers that do what a script says. The kit is a client: it knows nothing of the server's services and works against any server.
"""
