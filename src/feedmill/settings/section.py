"""What every table of the settings is, and the texts that several of them hold."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from feedmill.core.patterns import is_remark, parse_pattern
from feedmill.model.errors import BadRequest


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class OpenSection(BaseModel):
    """A table that is known by name and whose keys belong to the part that reads it."""

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
    """Refuses exceptions where each pattern has a rule of its own."""
    if parse_pattern(_check_pattern(text)).is_exception:
        raise ValueError(f"'{text}' is an exception; put a rule of its own before the others instead")
    return text


Pattern = Annotated[str, AfterValidator(_check_list_entry)]
RulePattern = Annotated[str, AfterValidator(_check_rule_pattern)]
