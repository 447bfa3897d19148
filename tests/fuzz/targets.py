"""All targets by name, and what was found once: inputs in ``corpus/NAME/`` are run whenever the target is."""

from pathlib import Path

from tests.fuzz import crawltargets, documenttargets, feedtargets, querytargets, settingstargets, signintargets, streamtargets
from tests.fuzz.target import Target

CORPUS = Path(__file__).with_name("corpus")

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (feedtargets, querytargets, signintargets, documenttargets, settingstargets, streamtargets, crawltargets)
    for target in module.TARGETS
}


def list_corpus(name: str) -> list[bytes]:
    """Returns the stored inputs of a target."""
    folder = CORPUS / name
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []
