"""How well results are ranked, on judged collections: nDCG@10, or MAP where a collection is usually measured so.

A collection is a folder with ``docs.jsonl`` (``_id``, ``title``, ``text``; other fields become metadata), ``queries.jsonl`` (``_id``,
``text``) and ``qrels.tsv`` (query, document, grade). The folder that holds them all is the first argument, or FEEDMILL_RELEVANCE.

Documents are pushed as feeds to a server and queries sent to ``/api/v1/search``, as users' are. With ``--quick`` the same documents
go straight into an index and the same searcher asks it, which takes seconds. Beside each figure stands that of plain BM25 in the same
run: one field, the engine's own tokenizer and English stemmer, or pairs and triples of characters where a script writes no blanks.
"""

import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tantivy

from feedmill.adapters.extract.language import detect_language
from feedmill.adapters.index.tantivy.reader import TantivyIndex
from feedmill.adapters.index.tantivy.writer import TantivyWriter
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.core.text.analysis import gram_size, has_spaceless
from feedmill.model.access import ANONYMOUS
from feedmill.model.query import MatchAll
from feedmill.model.ranking import Ranking
from feedmill.model.search import IndexDocument, SearchRequest
from feedmill.model.serving import Serving
from feedmill.services.searching.searcher import find_hits
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

FOLDER = "FEEDMILL_RELEVANCE"
DEPTH = 1_000
CLIENTS = 2
BY_MAP = ("cacm",)
Ask = Callable[[str, int], Sequence[str]]
"""Returns the ids of the best documents for a query, so many at most."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A judged collection; grades above 0 are relevant."""

    name: str
    documents: list[dict[str, Any]]
    queries: dict[str, str]
    grades: dict[str, dict[str, int]]

    @property
    def uses_map(self) -> bool:
        """Whether it is measured by mean average precision."""
        return self.name in BY_MAP


def main(folder: str = "", *names: str, quick: bool = False) -> None:
    """Prints a line a collection and the mean."""
    place = folder or os.environ.get(FOLDER, "")
    if not place:
        print(f"  skipped: set {FOLDER} to a folder of judged collections")
        return
    measure = measure_quick if quick else measure_served
    rows = []
    for path in sorted(Path(place).iterdir()):
        if not (path / "qrels.tsv").exists() or (names and path.name not in names):
            continue
        collection = load(path)
        began = time.monotonic()
        ours, plain = measure(collection), measure_plain(collection)
        rows.append((ours, plain))
        metric = "MAP" if collection.uses_map else "nDCG@10"
        seconds = time.monotonic() - began
        print(f"  {path.name:<12} {metric:<8} {ours:.3f}, plain BM25 {plain:.3f}: {ours - plain:+.3f} ({seconds:.0f} s)", flush=True)
    if rows:
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        print(f"  mean of {len(rows):<21} {means[0]:.3f}, plain BM25 {means[1]:.3f}: {means[0] - means[1]:+.3f}")


def load(path: Path) -> Collection:
    """Reads a collection."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (path / "qrels.tsv").read_text().splitlines():
        query, document, grade = line.split("\t")
        if grade.lstrip("-").isdigit() and int(grade) > 0:
            grades[query][document] = int(grade)
    queries = {query["_id"]: query["text"] for query in read_lines(path / "queries.jsonl")}
    return Collection(path.name, list(read_lines(path / "docs.jsonl")), queries, grades)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def metadata_of(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the fields of a document that are neither title nor text."""
    return [(name, str(value)) for name, value in document.items() if name not in ("_id", "title", "text") and value]


# --- the measures ---------------------------------------------------------------------------------------------------------------


def score(collection: Collection, ask: Ask, clients: int = 1) -> float:
    """Returns the mean over all judged queries."""
    judged = [query for query in collection.queries if collection.grades.get(query)]
    depth = DEPTH if collection.uses_map else 10

    def one(query: str) -> float:
        found = ask(collection.queries[query], depth)
        grades = collection.grades[query]
        return average_precision(found, grades) if collection.uses_map else ndcg(found, grades)

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(one, judged)) / len(judged)


def ndcg(found: Sequence[str], grades: dict[str, int], depth: int = 10) -> float:
    """Returns the normalised discounted cumulative gain, gains as graded."""
    gained = sum(grades.get(name, 0) / math.log2(place + 2) for place, name in enumerate(found[:depth]))
    ideal = sum(grade / math.log2(place + 2) for place, grade in enumerate(sorted(grades.values(), reverse=True)[:depth]))
    return gained / ideal


def average_precision(found: Sequence[str], grades: dict[str, int]) -> float:
    """Returns the average precision."""
    hits, total = 0, 0.0
    for place, name in enumerate(found, 1):
        if name in grades:
            hits += 1
            total += hits / place
    return total / len(grades)


# --- the ways to ask ------------------------------------------------------------------------------------------------------------


def measure_served(collection: Collection) -> float:
    """Pushes the collection to a server and asks it."""
    prefix = f"http://docs.example.com/{collection.name}/"
    with TemporaryDirectory() as folder, running(Path(folder) / "data") as appliance:
        for first in range(0, len(collection.documents), 1_000):
            records = [to_record(prefix, document) for document in collection.documents[first : first + 1_000]]
            appliance.feed(make_feed(*records), collection.name.replace("-", "_"), seconds=600)
        return score(collection, lambda query, num: ask_served(appliance, prefix, query, num), CLIENTS)


def to_record(prefix: str, document: dict[str, Any]) -> str:
    """Returns a document as the record of a feed."""
    title = f"<title>{escape(document['title'])}</title>" if document.get("title") else ""
    page = f"<html><head>{title}</head><body><p>{escape(document['text'])}</p></body></html>"
    return make_record(prefix + document["_id"], page, metadata_of(document))


def ask_served(appliance: Appliance, prefix: str, query: str, num: int) -> list[str]:
    """Queries a server and returns the ids found."""
    return [url.removeprefix(prefix) for url in appliance.urls(query, num=num)]


def measure_quick(collection: Collection, ranking: Ranking | None = None) -> float:
    """Puts the collection into an index and asks that."""
    with TemporaryDirectory() as folder:
        writer = TantivyWriter(Path(folder) / "index")
        writer.put_many(to_entries(collection))
        writer.commit()
        writer.close()
        index = TantivyIndex(Path(folder) / "index", ranking)
        ids = [document["_id"] for document in collection.documents]
        settings = CompiledSearchConfig(Serving())

        def ask(query: str, num: int) -> list[str]:
            plan = settings.plan(SearchRequest(query=query, num=num))
            hits = find_hits(index, plan.root or MatchAll(), plan, ANONYMOUS).hits
            return [ids[hit.key] for hit in hits.hits]

        return score(collection, ask)


def to_entries(collection: Collection) -> Iterator[IndexDocument]:
    """Yields the documents as the index takes them."""
    for key, document in enumerate(collection.documents):
        yield IndexDocument(
            key=key,
            url=f"http://docs.example.com/{collection.name}/{document['_id']}",
            display_url=None,
            access_class=0,
            title=document.get("title", ""),
            body=document["text"],
            metadata=tuple(metadata_of(document)),
            datasource=collection.name,
            mimetype="text/html",
            language=detect_language(document["text"]),
            last_modified=None,
            pagerank=96,
        )


def measure_plain(collection: Collection) -> float:
    """Measures plain BM25: one field, all words optional."""
    schema = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="plain").add_integer_field("key", fast=True).build()
    index = tantivy.Index(schema)
    analyzer = plain_analyzer(document["text"] for document in collection.documents[:20])
    index.register_tokenizer("plain", analyzer)
    writer = index.writer(15_000_000, 1)
    for key, document in enumerate(collection.documents):
        text = " \n".join([document.get("title", ""), document["text"], *(value for _, value in metadata_of(document))])
        writer.add_document(tantivy.Document.from_dict({"key": key, "text": text}, schema))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def ask(query: str, num: int) -> list[str]:
        terms = [tantivy.Query.term_query(schema, "text", word, "freq") for word in analyzer.analyze(query)]
        clauses = [(tantivy.Occur.Should, term) for term in terms]
        if not clauses:
            return []
        hits = searcher.search(tantivy.Query.boolean_query(clauses), num).hits
        keys = searcher.fast_field_values("key", [address for _, address in hits]) if hits else []
        return [str(collection.documents[int(key or 0)]["_id"]) for key in keys]

    return score(collection, ask)


def plain_analyzer(texts: Iterable[str]) -> tantivy.TextAnalyzer:
    """Builds the tokenizer that a plain index would have for texts like these."""
    sample = " ".join(texts)
    filter_ = tantivy.Filter
    if has_spaceless(sample):
        size = max(gram_size(character) for character in sample)
        return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(size, size)).filter(filter_.lowercase()).build()
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(filter_.lowercase())
    return builder.filter(filter_.stemmer("english")).build() if sample.isascii() or sample[0] < "\u0370" else builder.build()


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--quick"]
    main(*words, quick="--quick" in sys.argv[1:])
