"""Settings of command line adaptors as pull sources."""

from pathlib import Path

import pytest

from feedmill.model.errors import BadSettings
from feedmill.settings.pulling import AdaptorSourceSettings
from tests.builders.settings import load_text

HEAD = '[[sources]]\nname = "files"\nkind = "adaptor"\n'
TABLE = '[sources.adaptor]\ncommandline.lister.cmd = "./lister"\n"commandline.retriever.cmd" = "./retriever"\n'


def load(folder: Path, text: str) -> AdaptorSourceSettings:
    settings = load_text(folder, text).settings
    assert type(settings).model_validate_json(settings.model_dump_json()) == settings
    (source,) = settings.sources
    assert isinstance(source, AdaptorSourceSettings)
    return source


def test_keys_may_have_dots_or_quotes(tmp_path: Path) -> None:
    source = load(tmp_path, HEAD + TABLE + "limits.lister_seconds = 7\ndocId.isUrl = true\n")
    config = source.read_config()
    assert (config.lister, config.retriever, config.limits.lister_seconds, config.ids_are_urls) == (
        ("./lister",),
        ("./retriever",),
        7.0,
        True,
    )
    assert (source.folder, source.url_base) == (str(tmp_path), "adaptor://files/")


def test_file_of_properties_is_relative_to_the_settings_and_keys_of_the_table_replace_its_own(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    properties = "commandline.lister.cmd=a\ncommandline.retriever.cmd = b\ngsa.hostname=gsa\ncommandline.lister.arg1=x y\n"
    (tmp_path / "old" / "adaptor-config.properties").write_text(properties)
    text = HEAD + 'config = "old/adaptor-config.properties"\nbase_url = "http://adaptor.example.com:5678/doc/"\n'
    source = load(tmp_path, text + '[sources.adaptor]\ncommandline.retriever.cmd = "c"\n')
    config = source.read_config()
    assert (config.lister, config.retriever) == (("a", "x y"), ("c",))
    assert source.folder == str(tmp_path / "old")
    assert source.url_base == "http://adaptor.example.com:5678/doc/"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD, "sources[1].adaptor: commandline.lister.cmd: this key must be given"),
        (HEAD + 'config = "none.properties"\n', "f.toml:4: sources[1].config: "),
        (HEAD + TABLE + "limits.lister_second = 7\n", "f.toml:4: sources[1].adaptor: limits.lister_second: unknown key"),
        (HEAD + TABLE + "limits.output_mb = [1]\n", "sources[1].adaptor: limits.output_mb: must be text, a number, true or false"),
        (HEAD + TABLE + '"commandline.lister.cmd" = "x"\n', "commandline.lister.cmd: this key stands there twice"),
        (HEAD + 'user = "x"\n' + TABLE, "sources[1].user: commands sign in by themselves"),
        (HEAD + 'base_url = "x"\n' + TABLE, "sources[1].base_url: it must be the beginning of URLs"),
        (HEAD + 'directory = "gone"\n' + TABLE, "sources[1].directory: there is no folder"),
        (HEAD + 'url = "x"\n' + TABLE, "sources[1].url: unknown key"),
        (HEAD + TABLE + 'adaptor.fullListingSchedule = "soon"\n', "adaptor.fullListingSchedule: 'soon' is no schedule"),
    ],
)
def test_fault_is_named_at_its_key(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(BadSettings) as caught:
        load_text(tmp_path, text)
    assert any(fault in each for each in caught.value.faults), caught.value.faults
