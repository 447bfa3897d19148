"""What the settings need that no copy of the data folder holds."""

from pathlib import Path

from feedmill.settings import load_settings
from feedmill.settings.outside import MOST, list_outside

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def test_files_and_variables_are_named_and_no_secret(tmp_path: Path) -> None:
    config, logo, secret = tmp_path / "f.toml", tmp_path / "logo.svg", tmp_path / "password"
    logo.write_text(SVG)
    secret.write_text("t0psecret")
    config.write_text(
        '[[frontends]]\nname = "a"\nlogo = "logo.svg"\n[[frontends]]\nname = "b"\nlogo = "logo.svg"\n'
        '[[crawl.access]]\npattern = "intranet.example.com/"\nuser = "x"\npassword_file = "password"\n'
        '[signin.proxy]\ntrusted = ["192.0.2.7"]\nsecret_header = "X-Secret"\nsecret = "0thersecret"\n'
    )
    loaded = load_settings(config, {"FEEDMILL_GATE_PORT": "29900"})
    assert list_outside(loaded) == (str(config), str(secret), str(logo), "FEEDMILL_GATE_PORT")


def test_settings_from_nowhere_need_nothing() -> None:
    assert list_outside(load_settings(None, {})) == ()


def test_list_is_of_bounded_length(tmp_path: Path) -> None:
    config = tmp_path / "f.toml"
    entries = []
    for number in range(MOST + 50):
        (tmp_path / f"{number}.svg").write_text(SVG)
        entries.append(f'[[frontends]]\nname = "a{number}"\nlogo = "{number}.svg"\n')
    config.write_text("".join(entries))
    assert len(list_outside(load_settings(config, {}))) == MOST
