"""Imports files of policy ACLs into the settings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.policyacl import PolicyAcl
from feedmill.settings.editing import API, SettingsEditor, SettingsEntry
from feedmill.wire.applianceconfig.faults import decode_file
from feedmill.wire.applianceconfig.policies import read_policies

SECTION = "policy_acls"
_NUMBERED = re.compile(r"policy-([0-9]{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedPolicies:
    """The result of an import. ``changed`` counts the policies whose pattern had a policy before."""

    added: int
    changed: int
    removed: int
    total: int


def import_policies(editor: SettingsEditor, data: bytes, *, replaces: bool = False) -> ImportedPolicies:
    """Sets the policies of a file; with ``replaces`` removes all others that the API set. Errors: BadRequest with lines.

    A pattern that has a policy retains the policy's name; the others are numbered in the order of the file.
    """
    read = read_policies(decode_file(data))
    held = editor.list(SECTION)
    names = {str(entry.value["pattern"]).strip(): entry for entry in held}
    fresh, gone = _name_all(read, names, held), set[str]()
    if replaces:
        gone = {entry.name for entry in held if entry.origin == API} - set(fresh)
    editor.replace_many(SECTION, fresh, gone)
    changed = len(fresh.keys() & {entry.name for entry in held})
    return ImportedPolicies(added=len(fresh) - changed, changed=changed, removed=len(gone), total=len(editor.list(SECTION)))


def _name_all(read: Sequence[PolicyAcl], known: Mapping[str, SettingsEntry], held: Sequence[SettingsEntry]) -> dict[str, dict[str, Any]]:
    numbers = [int(found[1]) for entry in held if (found := _NUMBERED.fullmatch(entry.name))]
    number, values = max(numbers, default=0), dict[str, dict[str, Any]]()
    for policy in read:
        entry = known.get(policy.pattern.strip())
        if entry is None:
            number += 1
        order = entry.value["order"] if entry is not None else 0
        values[f"policy-{number:06}" if entry is None else entry.name] = _value_of(policy, order)
    return values


def _value_of(policy: PolicyAcl, order: int) -> dict[str, Any]:
    """Returns a policy as a table of the settings: plain principals in the four lists, the others one by one."""
    value: dict[str, Any] = {"pattern": policy.pattern, "order": order}
    for entry in policy.entries:
        who, access = entry.principal, entry.access.value
        if who.namespace == DEFAULT_NAMESPACE and who.case_sensitive and not who.unqualified:
            value.setdefault(f"{access}_{who.scope.value}s", []).append(who.name)
        else:
            one = {"scope": who.scope.value, "access": access, "name": who.name, "namespace": who.namespace}
            value.setdefault("principals", []).append(one | {"case_sensitive": who.case_sensitive, "unqualified": who.unqualified})
    return value
