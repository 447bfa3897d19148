"""Renders the diagrams: ``python docs/diagrams/render.py`` writes an SVG beside each ``.dot`` file. It needs Graphviz.

Both files are committed, so that neither readers nor ``make docs`` need Graphviz. Each SVG names the digest of its source, by which a test
finds a drawing that is older than its source. The sources say what is drawn. Fonts, shapes and colours are set here, once for all diagrams:
Graphviz places the shapes for a wide font, so that the text fits in narrower ones too, and a style sheet inside the SVG colours them for
light and dark pages.
"""

import hashlib
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path(__file__).parent
SVG = "http://www.w3.org/2000/svg"
DEFAULTS = (
    "-Gfontname=DejaVu Sans",
    "-Gfontsize=12",
    "-Gpad=0.2",
    "-Glabeljust=l",
    "-Nfontname=DejaVu Sans",
    "-Nfontsize=12",
    "-Nshape=box",
    "-Nstyle=rounded",
    "-Nmargin=0.16,0.09",
    "-Nheight=0.4",
    "-Efontname=DejaVu Sans",
    "-Efontsize=11",
    "-Earrowsize=0.7",
)
_LIGHT = (
    "--paper: #ffffff; --ink: #1d2526; --faint: #4d595b; --line: #7d898b; "
    "--group: #f4f7f7; --box: #ffffff; --data: #e3f1ef; --data-line: #1f5f5b;"
)
_DARK = (
    "--paper: #14191a; --ink: #e3e9e9; --faint: #b4c0c1; --line: #7f8d8f; "
    "--group: #1c2325; --box: #252e30; --data: #1b3b39; --data-line: #57b6ae;"
)
STYLE = f"""
.diagram {{ {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ .diagram {{ {_DARK} }} }}
body[data-theme="light"] .diagram {{ {_LIGHT} }}
body[data-theme="dark"] .diagram {{ {_DARK} }}
.diagram text {{ font-family: system-ui, "Noto Sans", Arial, "DejaVu Sans", sans-serif; fill: var(--ink); }}
.diagram .paper {{ fill: var(--paper); stroke: none; }}
.diagram .cluster polygon, .diagram .cluster path {{ fill: var(--group); stroke: none; }}
.diagram .cluster text {{ font-weight: bold; fill: var(--faint); }}
.diagram .node polygon, .diagram .node path, .diagram .node polyline {{ fill: var(--box); stroke: var(--line); }}
.diagram .outside polygon, .diagram .outside path {{ fill: none; stroke-dasharray: 4 3; }}
.diagram .data polygon, .diagram .data path, .diagram .data polyline {{ fill: var(--data); stroke: var(--data-line); }}
.diagram .confined polygon, .diagram .confined path {{ stroke-width: 2; stroke: var(--data-line); }}
.diagram .edge path {{ fill: none; stroke: var(--line); }}
.diagram .edge polygon {{ fill: var(--line); stroke: var(--line); }}
.diagram .edge text {{ fill: var(--faint); }}
.diagram .stores path {{ stroke-dasharray: 2 3; }}
"""
_DROPPED = {"id", "fill", "stroke", "font-family", "{http://www.w3.org/XML/1998/namespace}space"}


def main() -> None:
    """Renders every diagram of this folder."""
    for source in sorted(FOLDER.glob("*.dot")):
        command = ["dot", *DEFAULTS, "-Tsvg", str(source)]
        drawn = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        source.with_suffix(".svg").write_text(restyle(drawn, read_digest(source)))


def read_digest(source: Path) -> str:
    """Returns the digest by which an SVG names its source."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def restyle(drawn: str, digest: str) -> str:
    """Returns Graphviz's SVG without its colours and names, with the style sheet and the digest of the source."""
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(re.sub(r"<!DOCTYPE.*?>", "", drawn, flags=re.DOTALL))  # noqa: S314  the input is our own
    for parent in list(root.iter()):
        for title in parent.findall(f"{{{SVG}}}title"):
            parent.remove(title)
        for name in _DROPPED & parent.attrib.keys():
            del parent.attrib[name]
    _, _, width, height = root.attrib["viewBox"].split()
    # Graphviz counts in points; one point becomes 1.1 pixels, so that the text is as high as that of the page
    root.attrib |= {
        "class": "diagram",
        "width": str(round(1.1 * float(width))),
        "height": str(round(1.1 * float(height))),
        "data-source": digest,
    }
    graph = root[0]
    graph[0].attrib |= {"class": "paper"}
    style = ElementTree.Element(f"{{{SVG}}}style")
    style.text = STYLE
    root.insert(0, style)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


if __name__ == "__main__":
    main()
