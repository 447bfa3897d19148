"""Tells the language of a text.

The detector's cost is linear in the sample and its answer is certain early, so a short passage is tried first and a long one only
when the short one left doubt. The passage is taken behind the beginning, where pages keep their menus.

The model takes a second to load and 130 MB: it is loaded once, before workers are forked, and shared by all of them.
"""

from functools import lru_cache
from typing import Any

_SHORT, _LONG = 200, 800
_SURE, _ENOUGH = 0.8, 0.5
_LEAST_BYTES = 24

_MACRO = {
    "ary": "ar", "arz": "ar", "uzs": "uz", "yue": "zh", "wuu": "zh", "hbo": "he", "grc": "el", "kik": "ki", "fuv": "ff",
    "gug": "gn", "sdh": "ku", "ltg": "lv",
}  # fmt: skip


@lru_cache(maxsize=1)
def load_model() -> Any:
    """Loads the detector's model once a process."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def detect_language(text: str) -> str | None:
    """Returns the ISO 639-1 code of a text's language, None when it is too short, no language, or in doubt."""
    code, confidence = _classify(_sample(text, _SHORT))
    if confidence < _SURE and len(text) > _SHORT:
        code, confidence = _classify(_sample(text, _LONG))
    if confidence < _ENOUGH or code is None:
        return None
    code = _MACRO.get(code, code)
    return code if len(code) == 2 else None


def _sample(text: str, characters: int) -> str:
    if not text.isascii():
        characters = characters * 2 // 3
    start = max(0, min(len(text) // 4, len(text) - characters))
    return text[start : start + characters]


def _classify(sample: str) -> tuple[str | None, float]:
    if len(sample.strip().encode("utf-8", "ignore")) < _LEAST_BYTES:
        return None, 0.0
    code, confidence = load_model().classify(sample)
    return code, confidence
