"""Decides whether a server did what it promises with documents that it was fed."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from tests.appliance import Appliance
from tests.real.corpus import Document

WAITS = "the index does not show"
"""Reasons of documents that wait: after the feeds have said that all is searchable, that is no excuse."""

FOUND, EXCUSED, MISSING = "found", "with reason", "not found"


@dataclass(slots=True)
class Verdict:
    """What was seen. Shape: ``table`` counts outcomes by format, ``violations`` are sentences."""

    table: dict[str, Counter[str]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def decide_each(self, server: Appliance, documents: Iterable[Document]) -> None:
        """Asks for every document and counts what comes of it."""
        for document in documents:
            outcome = self._judge_one(server, document)
            self.table.setdefault(document.format, Counter())[outcome] += 1

    def _judge_one(self, server: Appliance, document: Document) -> str:
        known = server.document(document.url)
        if known is None:
            self.violations.append(f"not known: {document.url}")
            return MISSING
        reason = known.get("reason") or ""
        if reason:
            self.reasons[f"{document.format}: {reason}"] += 1
        problem = _find_problem(server, document)
        if not problem:
            return FOUND
        if reason and WAITS not in reason:
            return EXCUSED
        self.violations.append(f"{problem}: {document.url} (searchable {known['searchable']}, mimetype {known['mimetype']})")
        return MISSING


def _find_problem(server: Appliance, document: Document) -> str:
    """Returns why a document is not found, empty when it is."""
    parts = urlsplit(document.url)
    query = " ".join(document.words) + f" site:{parts.netloc}" if document.words else f"info:{document.url}"
    path = "/api/v1/search?" + urlencode({"q": query, "match": "all", "num": 100})
    status, _, body = server.request("GET", server.search_port, path)
    if status != 200:
        return f"{query!r} answers {status}"
    answer = json.loads(body)
    return "" if document.url in [result["url"] for result in answer["results"]] else f"{query!r} finds {answer['total']} others"


def judge_server(server: Appliance) -> list[str]:
    """Returns what is wrong with the server itself: processes that were started again, tracebacks, errors, ports that are not ready."""
    violations = []
    token = (server.data / "admin.token").read_text().strip()
    _, _, body = server.request("GET", server.admin, "/api/v1/status", headers={"Authorization": f"Bearer {token}"})
    for role, role_status in json.loads(body)["roles"].items():
        if role_status["restarts"]:
            violations.append(f"{role} was started again {role_status['restarts']} times")
    for port in (server.gate, server.search_port, server.admin):
        status, _, answer = server.request("GET", port, "/readyz")
        if status != 200:
            violations.append(f"/readyz answers {status}: {answer.decode()[:200]}")
    for line in server.log.read_text(errors="replace").splitlines():
        if "Traceback" in line or '"level": "error"' in line or '"level":"error"' in line:
            violations.append(f"log: {line[:1_500]}")
    return violations


def render_table(verdicts: Sequence[tuple[str, Verdict]]) -> str:
    """Returns the outcomes by format as text."""
    lines = [f"{'format':<12}" + "".join(f"{name:>12}{FOUND:>8}{EXCUSED:>13}{MISSING:>11}" for name, _ in verdicts)]
    for kind in sorted({kind for _, verdict in verdicts for kind in verdict.table}):
        cells = [verdict.table.get(kind, Counter()) for _, verdict in verdicts]
        lines.append(f"{kind:<12}" + "".join(f"{sum(c.values()):>12}{c[FOUND]:>8}{c[EXCUSED]:>13}{c[MISSING]:>11}" for c in cells))
    cells = [sum(verdict.table.values(), Counter()) for _, verdict in verdicts]
    lines.append(f"{'all':<12}" + "".join(f"{sum(c.values()):>12}{c[FOUND]:>8}{c[EXCUSED]:>13}{c[MISSING]:>11}" for c in cells))
    return "\n".join(lines)
