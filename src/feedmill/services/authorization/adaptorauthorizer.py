"""Authorizes documents of a command line adaptor by its authorizer: many documents in one call, for one user.

The command reads the user, the groups in the namespace of the rule, and the ids from its standard input. A document that it does not
mention is denied, as in the library. An id that contains the delimiter cannot be passed, so its document stays undecided.
Source: googlegsa/library, ``CommandLineAdaptor.isUserAuthorized``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from feedmill.core.urls.patterns import parse_pattern
from feedmill.model.authorization import AuthorizationRule, Login
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest, BadStream, UpstreamFailure
from feedmill.model.identity import Identity, Subject
from feedmill.model.scope import Scope
from feedmill.ports.commands import CommandLine, Commands
from feedmill.services.authorization.authorizer import find_login, find_user
from feedmill.wire.commandstream.adapt import DocumentIds
from feedmill.wire.commandstream.authorizer import AuthorizerReader
from feedmill.wire.commandstream.render import render_question

MAX_ANSWER_BYTES = 16_000_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerCommand:
    """The authorizer of an adaptor: its command, its working folder, and the delimiter of the question."""

    arguments: tuple[str, ...]
    folder: str
    delimiter: str = "\0"


class AdaptorAuthorizer:
    """Calls one authorizer. May be used from several threads."""

    def __init__(self, rule: AuthorizationRule, command: AuthorizerCommand, ids: DocumentIds, commands: Commands) -> None:
        self.rule = rule
        self._command = command
        self._ids = ids
        self._commands = commands
        self._patterns = tuple(parse_pattern(text) for text in rule.patterns)

    def matches(self, url: str) -> bool:
        """Whether this adaptor has a document with a URL."""
        return self._ids.find_id(url) is not None and any(pattern.matches(url) for pattern in self._patterns)

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Returns the URLs in batches of one call each."""
        return [list(urls[place : place + self.rule.batch]) for place in range(0, len(urls), self.rule.batch)]

    def server_of(self, _urls: Sequence[str]) -> str:
        """Returns the command, the same for all URLs."""
        return self._command.arguments[0]

    def decide(self, urls: Sequence[str], current_user: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Decides about documents with one call. Errors: UpstreamFailure."""
        user = find_user(self.rule, current_user)
        ids = {url: identifier for url in urls if (identifier := self._ids.find_id(url)) and self._command.delimiter not in identifier}
        if user is None or not ids:
            return {}
        forwarded = find_login(self.rule, login)
        groups = sorted({_name_of(group) for group in (*current_user.groups, *current_user.reached) if self._is_group(group)})
        try:
            password = None if forwarded is None else forwarded.password
            question = render_question(_name_of(user), password, groups, ids.values(), self._command.delimiter)
        except BadRequest as exc:
            # the names of the user cannot be passed, whatever the document
            log.warning("authorization_not_possible", rule=self.rule.label, reason=str(exc))
            return {}
        found = self._call(question, min(seconds, self.rule.seconds))
        return {url: found.get(identifier) or Verdict.DENY for url, identifier in ids.items()}

    def _is_group(self, subject: Subject) -> bool:
        return subject.scope is Scope.GROUP and subject.namespace == self.rule.namespace and bool(subject.name)

    def _call(self, question: bytes, seconds: float) -> dict[str, Verdict | None]:
        line = CommandLine(
            label="authorizer",
            arguments=self._command.arguments,
            folder=self._command.folder,
            seconds=seconds,
            max_bytes=MAX_ANSWER_BYTES,
            limit="",
        )
        reader = AuthorizerReader()
        try:
            self._commands.run(line, reader.feed, standard_input=question)
            return reader.close()
        except BadStream as exc:
            reason = f"the output of the authorizer cannot be read at byte {exc.offset}, command {exc.command}: {exc}"
            raise UpstreamFailure(reason) from exc


def _name_of(subject: Subject) -> str:
    return f"{subject.name}@{subject.domain}" if subject.domain else subject.name
