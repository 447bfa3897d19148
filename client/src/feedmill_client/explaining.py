"""Explains the members of answers and of documents, where the reference of the JSON resources reads them.

Example::

    from dataclasses import fields

    from feedmill_client.answers import Suggestions

    print([each.metadata for each in fields(Suggestions)])
"""


def explain(text: str) -> dict[str, str]:
    """Returns the metadata of a field that has a meaning. Pydantic reads it where the server describes its resources."""
    return {"description": text}
