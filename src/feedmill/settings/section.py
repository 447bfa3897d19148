"""The base classes of the tables of the settings, and the text types that several tables use."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from feedmill.core.urls.networks import EVERYBODY, parse_network
from feedmill.core.urls.patterns import is_expression, is_remark, parse_pattern
from feedmill.model.errors import BadRequest

MAX_EXPRESSIONS = 1_000
_SOURCE_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")


class Section(BaseModel):
    """A table of the settings file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class OpenSection(BaseModel):
    """A table whose name is known and whose keys are checked by the part that reads it."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


def _check_pattern(text: str) -> str:
    try:
        parse_pattern(text)
    except BadRequest as exc:
        raise ValueError(str(exc)) from exc
    return text


def _check_list_entry(text: str) -> str:
    return text if is_remark(text) else _check_pattern(text)


def _check_rule_pattern(text: str) -> str:
    """Refuses exceptions in lists in which each pattern has a rule of its own."""
    if parse_pattern(_check_pattern(text)).is_exception:
        raise ValueError(f"'{text}' is an exception; put a rule of its own before the others instead")
    return text


def _check_secret_pattern(text: str) -> str:
    """Refuses an empty pattern, which matches every URL, for secrets that only some servers may get."""
    if not text.strip():
        raise ValueError("an empty pattern matches every URL; name the servers that may get this, or write '/' if all may")
    return _check_rule_pattern(text)


def _check_number_of_expressions(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Refuses lists with too many regular expressions, since each is matched against every URL."""
    count = sum(is_expression(line) for line in lines)
    if count > MAX_EXPRESSIONS:
        raise ValueError(f"{count} regular expressions, and a list may hold {MAX_EXPRESSIONS}")
    return lines


def check_network(text: str) -> str:
    """Refuses a text that is no address, no network and not the word for all of them. Errors: ValueError."""
    if text == EVERYBODY:
        return text
    try:
        parse_network(text)
    except BadRequest as exc:
        raise ValueError(str(exc)) from exc
    return text


def wrap_word(value: object) -> object:
    """Accepts ``trusted = "all"`` as a list of one."""
    if value == EVERYBODY:
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _check_source_name(text: str) -> str:
    if not _SOURCE_NAME.fullmatch(text):
        raise ValueError(f"'{text}' is no data source's name; it begins with a letter or _, then letters, digits, _ and -")
    return text


SourceName = Annotated[str, AfterValidator(_check_source_name)]
NetworkText = Annotated[str, AfterValidator(check_network)]
NetworkList = Annotated[tuple[NetworkText, ...], BeforeValidator(wrap_word)]
Pattern = Annotated[str, AfterValidator(_check_list_entry)]
PatternList = Annotated[tuple[Pattern, ...], AfterValidator(_check_number_of_expressions)]
RulePattern = Annotated[str, AfterValidator(_check_rule_pattern)]
SecretPattern = Annotated[str, AfterValidator(_check_secret_pattern)]
