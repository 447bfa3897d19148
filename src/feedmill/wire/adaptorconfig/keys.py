"""The keys of an adaptor's configuration, as Google's library names them, and those that Feedmill adds.

Rules:

1. A command is ``cmd`` and ``arg1``, ``arg2`` and so on, up to the first number that is missing.
2. Keys of the library that have no meaning here, such as ``gsa.hostname``, are accepted and change nothing.
3. Keys that the library knows and ignores are accepted, and listed: an argument after the first number that is missing or without its
   command, and a key of a transform that is not in the pipeline or has no such key. Every other key with a prefix of ``_OWN_PREFIXES``
   that nothing reads is a fault: it is most likely misspelt.
4. A transform is a command. Other classes of transforms are Java code, which cannot be run.

Source: googlegsa/library, ``CommandLineAdaptor.init``, ``CommandLineTransform.create``, ``Config``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.wire.commandstream.javavalues import parse_boolean
from feedmill.wire.commandstream.tokens import FORBIDDEN_IN_DELIMITER, MAX_DELIMITER_BYTES

PIPELINES: Final = ("metadata.transform.pipeline", "transform.pipeline")
TRANSFORM_FACTORY: Final = "com.google.enterprise.adaptor.prebuilt.CommandLineTransform.create"
MAX_SECONDS: Final = 604_800.0
MEGABYTE: Final = 1_000_000

_TRANSFORM_PREFIXES: Final = tuple(f"{name}." for name in PIPELINES)
_OWN_PREFIXES: Final = ("commandline.", "limits.", *_TRANSFORM_PREFIXES)
_ARGUMENT: Final = re.compile(r"commandline\.(?:lister|retriever|authorizer|incremental)\.arg[0-9]+")
_NUMBER: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")
_WHOLE: Final = re.compile(r"[0-9]{1,9}")

V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformCommand:
    """A command that rewrites the metadata of a document. ``folder`` "" is that of the adaptor."""

    name: str
    arguments: tuple[str, ...]
    folder: str = ""
    accepts_parameters: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptorLimits:
    """What a command may use. Units: ``output_bytes`` for one run of a command; ``retrievers`` at once."""

    lister_seconds: float = 3_600.0
    retriever_seconds: float = 300.0
    transform_seconds: float = 60.0
    authorizer_seconds: float = 5.0
    output_bytes: int = 1_000 * MEGABYTE
    retrievers: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptorConfig:
    """A command line adaptor. Commands that are not configured are empty.

    - ``delimiter`` is what ends each line of the question to the authorizer.
    - ``ids_are_urls``: the id of a document is its URL.
    - ``is_public``: all documents are public, whatever the retriever says.
    - ``full_schedule`` and ``poll_seconds`` are when the library lists everything, and changes; empty and 0 if not configured.
    - ``authorizer_patterns`` are the URL patterns that the authorizer decides; by default those of the adaptor.
    - ``ignored`` are keys without effect, with reasons.
    """

    lister: tuple[str, ...]
    retriever: tuple[str, ...]
    incremental: tuple[str, ...] = ()
    authorizer: tuple[str, ...] = ()
    delimiter: str = "\0"
    authorizer_namespace: str = DEFAULT_NAMESPACE
    authorizer_patterns: tuple[str, ...] = ()
    forwards_password: bool = False
    transforms: tuple[TransformCommand, ...] = ()
    ids_are_urls: bool = False
    is_public: bool = False
    full_schedule: str = ""
    poll_seconds: int = 0
    limits: AdaptorLimits = AdaptorLimits()
    ignored: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class ConfigFaults:
    """What is wrong with a configuration: keys with reasons."""

    found: list[tuple[str, str]] = field(default_factory=list)


def read_config(values: Mapping[str, str], faults: ConfigFaults | None = None) -> AdaptorConfig:
    """Returns the adaptor of a configuration. Errors: BadRequest with the first fault, unless ``faults`` collects them."""
    reader = _Reader(values)
    config = AdaptorConfig(
        lister=reader.read_command("commandline.lister."),
        retriever=reader.read_command("commandline.retriever."),
        incremental=reader.read_command("commandline.incremental."),
        authorizer=reader.read_command("commandline.authorizer."),
        delimiter=_find_delimiter(reader),
        authorizer_namespace=reader.read_text("commandline.authorizer.namespace", DEFAULT_NAMESPACE) or DEFAULT_NAMESPACE,
        authorizer_patterns=tuple(reader.read_text("commandline.authorizer.patterns", "").split()),
        forwards_password=reader.read_boolean("commandline.authorizer.forwardPassword"),
        transforms=_read_transforms(reader),
        ids_are_urls=reader.read_boolean("docId.isUrl"),
        is_public=reader.read_boolean("adaptor.markAllDocsAsPublic"),
        full_schedule=reader.read_text("adaptor.fullListingSchedule", ""),
        poll_seconds=reader.read_whole("adaptor.incrementalPollPeriodSecs", 0),
        limits=_read_limits(reader),
    )
    reader.check(config)
    if faults is not None:
        faults.found += reader.faults
    elif reader.faults:
        key, reason = reader.faults[0]
        raise BadRequest(f"{key}: {reason}")
    return replace(config, ignored=tuple(reader.ignored))


class _Reader:
    """Reads keys, notes which were read, and collects faults and the keys that have no effect."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._read: set[str] = set()
        self.faults: list[tuple[str, str]] = []
        self.ignored: list[tuple[str, str]] = []

    def find(self, key: str) -> str | None:
        self._read.add(key)
        return self._values.get(key)

    def add_fault(self, key: str, reason: str) -> None:
        self.faults.append((key, reason))

    def read_text(self, key: str, default: str) -> str:
        found = self.find(key)
        return default if found is None else found

    def read_boolean(self, key: str, *, default: bool = False) -> bool:
        found = self.find(key)
        return default if found is None else parse_boolean(found.strip())

    def read_seconds(self, key: str, default: float) -> float:
        return self._read_number(key, default, _NUMBER, float, "a number of seconds above 0, and at most 604800", MAX_SECONDS)

    def read_whole(self, key: str, default: int, most: int = 1_000_000_000) -> int:
        return self._read_number(key, default, _WHOLE, int, f"a whole number from 1 to {most}", most)

    def _read_number(self, key: str, default: V, form: re.Pattern[str], convert: Callable[[str], V], needed: str, most: float) -> V:
        text = self.find(key)
        if text is None or not text.strip():
            return default
        value = convert(text.strip()) if form.fullmatch(text.strip()) else None
        if value is None or not 0 < float(value) <= most:  # type: ignore[arg-type]  # int or float
            self.add_fault(key, f"'{text}' is not {needed}")
            return default
        return value

    def read_command(self, prefix: str) -> tuple[str, ...]:
        program = self.find(f"{prefix}cmd")
        arguments: list[str] = []
        while (argument := self.find(f"{prefix}arg{len(arguments) + 1}")) is not None:
            arguments.append(argument)
        if program is None or not program:
            if program == "":
                self.add_fault(f"{prefix}cmd", "the command must not be empty")
            elif arguments:
                self.ignored.append((f"{prefix}arg1", f"there is no {prefix}cmd that it belongs to"))
            return ()
        if any("\0" in each for each in (program, *arguments)):
            self.add_fault(f"{prefix}cmd", "a command contains the character NUL")
        return (program, *arguments)

    def check(self, config: AdaptorConfig) -> None:
        """Checks what must be there, and that every key of a command is read."""
        for name in ("lister", "retriever"):
            key = f"commandline.{name}.cmd"
            if not getattr(config, name) and all(place != key for place, _ in self.faults):
                self.add_fault(key, "this key must be given")
        if config.authorizer and config.ids_are_urls and not config.authorizer_patterns:
            reason = "with docId.isUrl, say by URL patterns which documents the authorizer decides"
            self.add_fault("commandline.authorizer.patterns", reason)
        for key in self._values:
            if key in self._read or not key.startswith(_OWN_PREFIXES):
                continue
            if _ARGUMENT.fullmatch(key):
                self.ignored.append((key, "an argument with a smaller number is missing, so this one is not passed"))
            elif key.startswith(_TRANSFORM_PREFIXES):
                self.ignored.append((key, "no transform of the pipeline reads it"))
            else:
                self.add_fault(key, "unknown key")


def _find_delimiter(reader: _Reader) -> str:
    # the library misspells it
    key = "commandline.authorizer.delimeter"
    found = reader.find("commandline.authorizer.delimiter")
    delimiter = reader.read_text(key, "\0") if found is None else found
    if not delimiter or FORBIDDEN_IN_DELIMITER.search(delimiter) or len(delimiter.encode(errors="replace")) > MAX_DELIMITER_BYTES:
        reader.add_fault(key, "it is empty, too long, or contains a character that no delimiter may contain")
        return "\0"
    return delimiter


def _read_limits(reader: _Reader) -> AdaptorLimits:
    defaults = AdaptorLimits()
    return AdaptorLimits(
        lister_seconds=reader.read_seconds("limits.lister_seconds", defaults.lister_seconds),
        retriever_seconds=reader.read_seconds("limits.retriever_seconds", defaults.retriever_seconds),
        transform_seconds=reader.read_seconds("limits.transform_seconds", defaults.transform_seconds),
        authorizer_seconds=reader.read_seconds("limits.authorizer_seconds", defaults.authorizer_seconds),
        output_bytes=reader.read_whole("limits.output_mb", defaults.output_bytes // MEGABYTE, 1_000_000) * MEGABYTE,
        retrievers=reader.read_whole("limits.retrievers", defaults.retrievers, 64),
    )


def _read_transforms(reader: _Reader) -> tuple[TransformCommand, ...]:
    found = []
    for pipeline in PIPELINES:
        names = [name.strip() for name in reader.read_text(pipeline, "").split(",")]
        found += [_read_transform(reader, f"{pipeline}.{name}.", name) for name in names if name]
    return tuple(each for each in found if each.arguments)


def _read_transform(reader: _Reader, prefix: str, name: str) -> TransformCommand:
    factory = reader.read_text(f"{prefix}factoryMethod", "")
    if factory != TRANSFORM_FACTORY:
        reader.add_fault(f"{prefix}factoryMethod", f"'{factory}' cannot be run; only commands can, by {TRANSFORM_FACTORY}")
    arguments = reader.read_command(prefix)
    if not arguments and factory == TRANSFORM_FACTORY and reader.find(f"{prefix}cmd") is None:
        reader.add_fault(f"{prefix}cmd", "this key must be given")
    return TransformCommand(
        name=name,
        arguments=arguments,
        folder=reader.read_text(f"{prefix}workingDirectory", ""),
        accepts_parameters=reader.read_boolean(f"{prefix}cmdAcceptsParameters", default=True),
    )
