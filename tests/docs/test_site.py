"""The site of the manual: its navigation has every page, its diagrams are current, and its build refuses broken links."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.diagrams.render import read_digest
from docs.navigation import Group, read_groups, write_toctrees
from feedmill.runtime.roles import ROLES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TOOLS = ROOT / ".tools/docs-packages"
BESIDE = ("ARCHITECTURE", "CHANGELOG", "README", "SECURITY")
DIAGRAMS = sorted((DOCS / "diagrams").glob("*.dot"))

needs_sphinx = pytest.mark.skipif(not (TOOLS / "sphinx").is_dir(), reason="the tools of make docs are not there; make docs fetches them")


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Builds the site as ``make docs`` does."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--builder", "html", "--conf-dir", str(source / "docs")]
    command += ["--doctree-dir", str(target / "doctrees"), str(source), str(target / "site")]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": str(TOOLS)}, capture_output=True, text=True, check=False)


def copy_settings(target: Path) -> None:
    """Copies what builds the site, without the pages."""
    for name in ("conf.py", "navigation.py", "static", "templates"):
        source = DOCS / name
        (target / "docs").mkdir(exist_ok=True)
        shutil.copytree(source, target / "docs" / name) if source.is_dir() else shutil.copy(source, target / "docs")
    icon = "src/feedmill/http/static/icon.svg"
    (target / icon).parent.mkdir(parents=True)
    shutil.copy(ROOT / icon, target / icon)


def test_read_groups_names_a_group_by_heading_and_introduction() -> None:
    text = (
        "# Home\n\n- [not in a group](x.txt)\n\n## Reference\n\nSearch:\n\n- [A](reference/a.md): a\n- [B](../B.md#part)\n- [C](../C.md)\n"
    )
    assert read_groups(text) == [Group(title="Reference: Search", pages=("docs/reference/a", "C"))]


def test_write_toctrees_starts_paths_at_the_root() -> None:
    written = write_toctrees([Group(title="Reference", pages=("docs/a", "B"))])
    assert written == "```{toctree}\n:hidden:\n:caption: Reference\n\n/docs/a\n/B\n```\n"


def test_navigation_has_every_page_once() -> None:
    pages = [page for group in read_groups((DOCS / "index.md").read_text()) for page in group.pages]
    expected = {str(path.relative_to(ROOT).with_suffix("")) for path in DOCS.rglob("*.md")} - {"docs/index"}
    assert sorted(pages) == sorted(expected | set(BESIDE))


def test_navigation_is_grouped_by_kind_of_page() -> None:
    groups = read_groups((DOCS / "index.md").read_text())
    kinds = list(dict.fromkeys(group.title.partition(":")[0] for group in groups))
    assert kinds == ["Tutorials", "How-to guides", "Reference", "Explanation", "Decisions"]


@pytest.mark.parametrize("source", DIAGRAMS, ids=lambda path: path.stem)
def test_diagram_is_drawn_from_its_source_of_today(source: Path) -> None:
    drawn = source.with_suffix(".svg").read_text()
    assert f'data-source="{read_digest(source)}"' in drawn, "run docs/diagrams/render.py"


@pytest.mark.parametrize("source", DIAGRAMS, ids=lambda path: path.stem)
def test_diagram_is_shown_with_a_description(source: Path) -> None:
    shown = [text for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")] for text in re.findall(r"!\[(.*?)\]\((.*?)\)", path.read_text())]
    descriptions = [description for description, target in shown if target.endswith(f"diagrams/{source.stem}.svg")]
    assert descriptions
    assert all(len(description) > 80 for description in descriptions)


def test_diagram_of_processes_has_every_role() -> None:
    text = (DOCS / "diagrams/processes.dot").read_text()
    assert [role.name for role in ROLES if f"<b>{role.name}</b>" not in text] == []


@pytest.mark.thorough
@needs_sphinx
def test_site_builds_and_fetches_nothing_when_it_is_read(tmp_path: Path) -> None:
    result = build(ROOT, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 50
    fetched = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(?:https?:)?//|<link[^>]*rel=\"(?:stylesheet|preload|icon)\"[^>]*href=\"(?:https?:)?//"
    )
    assert [page.name for page in pages if fetched.search(page.read_text())] == []
    styles = "".join(path.read_text() for path in (tmp_path / "site").rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", styles) == []
    assert ".drawing" in styles
    assert "receipt" in (tmp_path / "site/searchindex.js").read_text()


@needs_sphinx
@pytest.mark.parametrize(
    "link",
    [
        pytest.param("[a](missing.md)", marks=pytest.mark.thorough),
        "[a](other.md#missing)",
        pytest.param("![a](missing.svg)", marks=pytest.mark.thorough),
        pytest.param("[a](../missing.txt)", marks=pytest.mark.thorough),
    ],
    ids=["page", "anchor", "picture", "file"],
)
def test_build_fails_on_a_broken_link(tmp_path: Path, link: str) -> None:
    copy_settings(tmp_path)
    (tmp_path / "docs/index.md").write_text("# Home\n\n## Reference\n\n- [Other](other.md)\n- [Sound](other.md#part)\n")
    (tmp_path / "docs/other.md").write_text(f"# Other\n\n## Part\n\n{link}\n")
    assert "missing" in (result := build(tmp_path, tmp_path / "broken")).stderr
    assert result.returncode != 0
