"""The backends of the store, the index and the blobs are chosen by the scheme of their URL."""

from pathlib import Path

import pytest

from feedmill.bootstrap.backends import BLOBS, STORES, find_builder
from feedmill.bootstrap.indexbackends import INDEXES, open_generations
from feedmill.model.errors import BadRequest
from feedmill.settings import Settings, load_settings

DEFAULTS = [(STORES, "sqlite"), (INDEXES, "tantivy"), (BLOBS, "file")]


@pytest.mark.parametrize(("builders", "scheme"), DEFAULTS, ids=lambda value: value if isinstance(value, str) else "")
def test_empty_url_is_the_backend_in_the_data_folder(builders: dict[str, object], scheme: str) -> None:
    assert find_builder(builders, "x", "") is find_builder(builders, "x", f"{scheme}:") is find_builder(builders, "x", f"{scheme.upper()}:")


def test_store_is_found_by_its_scheme() -> None:
    found = find_builder(STORES, "store", "postgresql://me@host/name")
    assert found is find_builder(STORES, "store", "postgresql+psycopg://me@host/name")
    assert found is not find_builder(STORES, "store", "")


@pytest.mark.parametrize(("builders", "scheme"), DEFAULTS, ids=lambda value: value if isinstance(value, str) else "")
def test_unknown_scheme_is_refused_without_the_secrets_of_the_url(builders: dict[str, object], scheme: str) -> None:
    with pytest.raises(BadRequest) as caught:
        find_builder(builders, "x", "s3://me:secret@host")
    assert f"{scheme}:" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("section", ["store", "index", "blobs"])
def test_setting_refuses_an_unknown_scheme_with_its_line(tmp_path: Path, section: str) -> None:
    (tmp_path / "f.toml").write_text(f'[{section}]\nurl = "gopher://host"\n')
    with pytest.raises(BadRequest, match=rf"(?s):2:.*{section}\.url.*must be empty") as caught:
        load_settings(tmp_path / "f.toml", {})
    assert "line 2" in str(caught.value) or ":2" in str(caught.value)


def test_generations_of_a_new_data_folder_are_none(tmp_path: Path) -> None:
    generations = open_generations(tmp_path, Settings())
    assert list(generations.list_names()) == []
    assert not generations.can_serve("1-1")
    generations.remove("1-1")
    generations.open_writer(f"{generations.schema}-1").close()
    assert list(generations.list_names()) == [f"{generations.schema}-1"]
    generations.remove(f"{generations.schema}-1")
    assert list(generations.list_names()) == []
