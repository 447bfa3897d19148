"""The generations of a Tantivy index in a folder."""

from pathlib import Path

from feedmill.adapters.index.tantivy.generations import TantivyGenerations


def test_generation_exists_from_its_first_commit_on(tmp_path: Path) -> None:
    generations = TantivyGenerations(tmp_path / "index")
    (tmp_path / "index" / "9-1").mkdir(parents=True)
    assert generations.list_names() == ["9-1"]
    assert not generations.exists("9-1")
    writer = generations.open_writer("9-2")
    writer.commit()
    writer.close()
    assert generations.exists("9-2")
    generations.remove("9-2")
    assert not generations.exists("9-2")
