import pytest

from feedmill.core.access.userroles import RoleRules
from feedmill.model.access import Scope
from feedmill.model.identity import Subject
from feedmill.model.userrole import UserRole


@pytest.mark.parametrize(
    ("rule", "domain", "name", "is_met"),
    [
        ("admins", "", "Admins", True),
        ("admins", "PARTNER", "admins", True),
        ("CORP\\admins", "corp", "ADMINS", True),
        ("admins@corp", "corp.example.com", "admins", True),
        ("corp.example.com/admins", "corp.example.com", "admins", True),
        ("CORP\\admins", "PARTNER", "admins", False),
        ("CORP\\admins", "", "admins", False),
        ("corp.example.com/admins", "corp", "admins", False),
        ("/org/admins", "", "org/admins", True),
        ("a, b\\c", "", "a, b\\c", True),
        ("admins", "", "admins2", False),
        ("", "", "admins", False),
    ],
)
def test_role_rule_means_groups_of_its_domain(rule: str, domain: str, name: str, is_met: bool) -> None:
    group = Subject(scope=Scope.GROUP, name=name, domain=domain)
    found = RoleRules(managers=(rule,)).find_role([group])
    assert found is (UserRole.MANAGER if is_met else UserRole.SEARCHER)


def test_role_is_the_highest_of_all_groups() -> None:
    rules = RoleRules(administrators=("a",), managers=("m",), viewers=("v",))
    groups = [Subject(scope=Scope.GROUP, name=name) for name in "vma"]
    assert [rules.find_role(groups[:count]) for count in range(4)] == [
        UserRole.SEARCHER,
        UserRole.VIEWER,
        UserRole.MANAGER,
        UserRole.ADMINISTRATOR,
    ]
