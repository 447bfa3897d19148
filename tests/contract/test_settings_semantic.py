"""The settings of semantic search: what is refused, and that its key is shown nowhere."""

from pathlib import Path

import pytest

from feedmill.bootstrap.semantic import build_embedder
from feedmill.http.admin.status import HIDDEN, list_settings
from feedmill.model.errors import BadSettings
from feedmill.settings import Settings
from tests.builders.settings import load_text

ON = '[semantic]\nurl = "http://127.0.0.1:8090/v1/embeddings"\nmodel = "m"\n'


def test_semantic_search_is_off_by_default() -> None:
    assert not Settings().semantic.is_on
    assert Settings().semantic.stored_model == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[semantic]\nurl = "http://127.0.0.1:8090/v1/embeddings"', "semantic.model: give the name"),
        ('[semantic]\nurl = "127.0.0.1:8090"\nmodel = "m"', "f.toml:2: semantic.url: the url is none of http or https"),
        ('[semantic]\nurl = "http://user:pass@host/"\nmodel = "m"', "f.toml:2: semantic.url"),
        (ON + 'key = "env:NOT_THERE"', "f.toml:4: semantic.key: the variable NOT_THERE is not set"),
        (ON + 'key_file = "missing"', "f.toml:4: semantic.key_file"),
        (ON + 'key = "a"\nkey_file = "b"', "f.toml:5: semantic.key_file: give either"),
        (ON + 'key = "tab\\there"', "f.toml:4: semantic.key: a key is sent in a header"),
        (ON + 'ca_file = "missing.pem"', "f.toml:4: semantic.ca_file: there is no file"),
        (ON + "min_similarity = 1.0", "f.toml:4: semantic.min_similarity"),
        (ON + "seconds = 0", "f.toml:4: semantic.seconds"),
        (ON + 'modle = "m"', "f.toml:4: semantic.modle"),
    ],
)
def test_settings_that_cannot_work_are_refused(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(BadSettings) as caught:
        load_text(tmp_path, text)
    assert any(fault in each for each in caught.value.faults), caught.value.faults


def test_key_is_read_and_shown_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_text(tmp_path, ON + 'key = "hidden"')
    assert "hidden" not in repr(loaded.settings) + repr(list_settings(loaded)) + repr(loaded.warnings)
    assert list_settings(loaded)["semantic.key"]["value"] == HIDDEN
    assert any("semantic.key: the secret stands" in warning for warning in loaded.warnings)
    monkeypatch.setenv("MODEL_KEY", "hidden")
    loaded = load_text(tmp_path, ON + 'key = "env:MODEL_KEY"')
    assert not any("semantic" in warning for warning in loaded.warnings)
    assert "hidden" not in repr(build_embedder(loaded.settings))


def test_key_file_is_beside_the_settings(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")
    (tmp_path / "key").chmod(0o644)
    loaded = load_text(tmp_path, ON + 'key_file = "key"')
    assert loaded.settings.semantic.key_file == str(tmp_path / "key")
    assert any("semantic.key_file: every account of this machine can read" in warning for warning in loaded.warnings)


def test_prefix_of_passages_is_part_of_the_stored_model(tmp_path: Path) -> None:
    plain = load_text(tmp_path, ON).settings.semantic.stored_model
    first, second = (load_text(tmp_path, f'{ON}passage_prefix = "{text}: "').settings.semantic.stored_model for text in ("a", "b"))
    queries = load_text(tmp_path, f'{ON}query_prefix = "query: "').settings.semantic.stored_model
    assert len({plain, first, second}) == 3
    assert plain == queries == "m"
