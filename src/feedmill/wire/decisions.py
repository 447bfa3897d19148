"""Decisions on access as JSON, and questions for them as JSON lines.

A question is ``{"url", "user", "domain", "namespace", "groups": [{"name", "domain", "namespace"}]}``; names are literal and never split.
Source: docs/reference/command-line.md.
"""

import json
from typing import Any

from feedmill.core.access.explanation import describe_subject
from feedmill.core.access.policyacls import kind_of
from feedmill.model.access import Principal
from feedmill.model.accesschange import AccessChange, ChangeOrigin
from feedmill.model.decision import Decision, EntryMatch, Step, Verdict
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE, Identity, Subject
from feedmill.model.policyacl import EarlyDecision, PolicyAcl, PolicyDecision
from feedmill.model.scope import Scope
from feedmill.wire.jsonline import parse_object


def render_decision(decision: Decision, user: str | None) -> dict[str, Any]:
    """Returns a decision as JSON. Shape: ``user`` as in the request, None for anonymous."""
    return {
        "url": decision.url,
        "user": user,
        "decision": decision.verdict.value,
        "reason": decision.reason,
        "path": [_render_step(step) for step in decision.path],
    }


def render_early_decision(early: EarlyDecision, user: str | None) -> dict[str, Any]:
    """Returns the decision without other servers as JSON: the ACLs' decision, with the policy and both together."""
    return {
        **render_decision(early.decision, user),
        "policy": None if early.policy_decision is None else _render_policy_decision(early.policy_decision),
        "combined": early.verdict.value,
        "public": early.is_public,
    }


def _render_policy_decision(policy_decision: PolicyDecision) -> dict[str, Any]:
    return {
        "name": policy_decision.policy.name,
        "pattern": policy_decision.policy.pattern,
        "decision": policy_decision.verdict.value,
        "entry": None if policy_decision.match is None else _render_match(policy_decision.match),
    }


def render_policy(policy: PolicyAcl) -> dict[str, Any]:
    """Returns a policy as JSON."""
    principals = [{**render_principal(entry.principal), "access": entry.access.value} for entry in policy.entries]
    return {"name": policy.name, "pattern": policy.pattern, "kind": kind_of(policy.pattern).value, "principals": principals}


def _render_step(step: Step) -> dict[str, Any]:
    return {
        "url": step.url,
        "inheritance_type": step.acl.inheritance_type.value,
        "local": step.local.value,
        "entry": None if step.match is None else _render_match(step.match),
    }


def _render_match(match: EntryMatch) -> dict[str, Any]:
    path = [describe_subject(subject) for subject in match.path]
    return {**render_principal(match.entry.principal), "access": match.entry.access.value, "through": path}


def render_principal(principal: Principal) -> dict[str, Any]:
    """Returns the principal of an ACL as JSON."""
    return {
        "scope": principal.scope.value,
        "namespace": principal.namespace,
        "name": principal.name,
        "case_sensitive": principal.case_sensitive,
    }


def render_named(principal: Principal, verdict: Verdict) -> dict[str, Any]:
    """Returns the principal of an ACL, and the chain's verdict on it, as JSON."""
    return {**render_principal(principal), "decision": verdict.value}


def render_change(change: AccessChange) -> dict[str, Any]:
    """Returns a document that a user gained or lost, with the cause, as JSON."""
    return {
        "change": "gained" if change.is_gained else "lost",
        "url": change.url,
        "datasource": change.datasource,
        "before": change.before,
        "after": change.after,
        "cause": None if change.origin is None else _render_origin(change.origin),
    }


def _render_origin(origin: ChangeOrigin) -> dict[str, Any]:
    return {
        "kind": origin.cause.value,
        "kind_code": origin.cause.name.lower(),
        "at": origin.at.isoformat(timespec="microseconds"),
        "url": origin.url or None,
        "feed": origin.feed_id or None,
        "source": origin.source or None,
    }


def parse_question(line: str) -> tuple[str, str | None, Identity]:
    """Returns the content of one line: the URL, the user as written, and their identity. Errors: BadRequest, with the fault."""
    question = parse_object(line, '{"url": "http://...", "user": "ann"}')
    url = _text(question, "url", "")
    if not url:
        raise BadRequest("'url' is missing")
    namespace = _text(question, "namespace", DEFAULT_NAMESPACE)
    user = _text(question, "user", "")
    domain = _text(question, "domain", "")
    users = (Subject(scope=Scope.USER, name=user, domain=domain, namespace=namespace),) if user else ()
    return url, user or None, Identity(users=users, groups=_parse_groups(question.get("groups"), namespace))


def _parse_groups(given: Any, namespace: str) -> tuple[Subject, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise BadRequest("groups is a list of objects, each with a name")
    return tuple(dict.fromkeys(_parse_group(each, namespace) for each in given))


def _parse_group(given: dict[str, Any], namespace: str) -> Subject:
    name = _text(given, "name", "")
    if not name:
        raise BadRequest("a group without 'name'")
    return Subject(scope=Scope.GROUP, name=name, domain=_text(given, "domain", ""), namespace=_text(given, "namespace", namespace))


def _text(given: dict[str, Any], name: str, default: str) -> str:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise BadRequest(f"'{name}' is a text, not {json.dumps(value)[:40]}")
    return value
