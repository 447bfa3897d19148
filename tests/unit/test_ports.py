"""Each port is small: a caller takes a port with what it needs, and an adapter may implement several."""

import ast
from pathlib import Path

import pytest

PORTS = Path(__file__).parents[2] / "src/feedmill/ports"
MOST = 7


def list_protocols() -> list[ast.ClassDef]:
    nodes = [node for path in sorted(PORTS.rglob("*.py")) for node in ast.parse(path.read_text("utf-8")).body]
    return [node for node in nodes if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)]


def members_of(protocol: ast.ClassDef) -> set[str]:
    """Returns the public methods, properties and attributes that a protocol declares."""
    methods = {node.name for node in protocol.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    attributes = {ast.unparse(node.target) for node in protocol.body if isinstance(node, ast.AnnAssign)}
    return {name for name in methods | attributes if not name.startswith("_")}


@pytest.mark.parametrize("protocol", list_protocols(), ids=lambda protocol: protocol.name)
def test_port_with_its_methods_is_small(protocol: ast.ClassDef) -> None:
    assert len(members_of(protocol)) <= MOST


def test_ports_are_found() -> None:
    assert {"Store", "UnitOfWork", "SearchIndex", "DocumentReader"} <= {protocol.name for protocol in list_protocols()}
