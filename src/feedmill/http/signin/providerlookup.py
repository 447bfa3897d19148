"""Finds the provider that an address names."""

from collections.abc import Mapping
from typing import TypeVar

from starlette.requests import Request

from feedmill.model.errors import NotFound
from feedmill.model.messages import message

Provider = TypeVar("Provider")


def find_provider(providers: Mapping[str, Provider], request: Request) -> Provider:
    """Returns the provider in the path of a request. Errors: NotFound."""
    try:
        return providers[request.path_params["name"]]
    except KeyError:
        raise NotFound(message("there is no such provider")) from None
