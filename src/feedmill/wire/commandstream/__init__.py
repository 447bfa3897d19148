"""Reads and writes command streams: what the commands of a command line adaptor print.

A lister prints which documents there are, a retriever one document, an authorizer decisions about documents::

    GSA Adaptor Data Version 1 [<delimiter>]<delimiter>id=/docs/a<delimiter>crawl-once<delimiter>id=/docs/b

A ``Tokenizer`` splits the bytes at the delimiter, a ``CommandReader`` turns the tokens into commands, and its subclasses know what
commands mean to a lister, a retriever and an authorizer. They behave as Google's library of adaptors does, with its errors. With
``strict`` they also collect remarks about everything that the library ignores.

``render`` writes streams, and what an authorizer reads.

Source: googlegsa/library, ``CommandStreamParser`` (the Javadoc differs from the code in places; the code counts).
"""
