"""``feedmill import``: imports exported files of an old appliance into the settings."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, InputFile, Json, clean, console, print_json, workplace
from feedmill.model.errors import BadRequest

IMPORT_EXAMPLES = """Examples:

  feedmill import keymatches keymatches.csv --name default_frontend

  feedmill import related related.csv --name intranet --replace

  feedmill import synonyms synonyms.txt --name imported --json"""

Kind = Annotated[str, typer.Argument(metavar="KIND", help="keymatches, related or synonyms.")]
Name = Annotated[str, typer.Option("--name", help="The front end, or the table of synonyms, to import into.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace the present content.")]


def import_settings(
    kind: Kind,
    file: InputFile,
    name: Name = "",
    replace: Replace = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Import KeyMatches, related queries or synonyms of an old appliance into the settings."""
    from feedmill.settings.editing import SettingsEditor
    from feedmill.settings.importing import KINDS, import_text
    from feedmill_client.port import quote_name

    if kind not in KINDS:
        raise typer.BadParameter(f"'{kind}' is none of {', '.join(KINDS)}", param_hint="KIND")
    name = name or ("imported" if kind == "synonyms" else "default_frontend")
    content = read_exported(file)
    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        path = f"/api/v1/settings/{KINDS[kind][0]}/{quote_name(name)}/import"
        answer = place.client(server, "admin").send_json(
            "POST", path, as_body(content), {"kind": kind, **({"replace": "1"} if replace else {})}
        )
    else:
        with place.work(may_begin=True) as context:
            editor = SettingsEditor(context.store, place.load, context.notifier)
            answer = asdict(import_text(editor, kind, name, content, replaces=replace))
            record_command(context, "import", {"kind": kind, "name": name, "added": answer["added"], "replaced": replace})
    if as_json:
        print_json(answer)
    else:
        console().print(clean(f"{answer['added']} new, {answer['total']} in all: {answer['section']}/{answer['name']}"))


def read_exported(file: Path) -> bytes:
    """Returns the bytes of an exported file. Errors: BadRequest if it is larger than the settings can hold."""
    from feedmill.settings.editing import MAX_STORED_BYTES

    with file.open("rb") as stream:
        content = stream.read(MAX_STORED_BYTES + 1)
    if len(content) > MAX_STORED_BYTES:
        raise BadRequest(f"'{file}' is larger than {MAX_STORED_BYTES} bytes")
    return content


def as_body(content: bytes) -> dict[str, str]:
    """Returns an exported file as the admin API expects it; bytes that are not UTF-8 survive."""
    return {"text": content.decode("utf-8-sig", "surrogateescape")}
