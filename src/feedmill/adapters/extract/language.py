"""Tells the language of a text.

Two detectors: a fast one that says when it is not sure, and a slow one that is asked then. Both read a passage from behind the
beginning of the text, where pages keep their menus; the slow one, whose cost is linear in its sample, a short passage first and a
long one only when the short one left doubt.

The model of the slow one takes a second to load and 130 MB: it is loaded once, before workers are forked, and shared by all of them.
"""

import re
from functools import lru_cache
from typing import Any

import pycld2

_PASSAGE, _SHORT, _LONG = 600, 200, 800
_SURE, _ENOUGH = 0.8, 0.5
_LEAST_BYTES = 24
_LEAST_PERCENT = 60

_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff\uff66-\uff9d]")

# codes of their own, and codes that have since been replaced, in ISO 639-1
_SAME = {
    "ary": "ar", "arz": "ar", "uzs": "uz", "yue": "zh", "wuu": "zh", "hbo": "he", "grc": "el", "kik": "ki", "fuv": "ff",
    "gug": "gn", "sdh": "ku", "ltg": "lv", "iw": "he", "jw": "jv", "in": "id", "mo": "ro", "zh-Hant": "zh", "sr-ME": "sr",
}  # fmt: skip


@lru_cache(maxsize=1)
def load_model() -> Any:
    """Loads the slow detector's model once a process."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def detect_language(text: str) -> str | None:
    """Returns the ISO 639-1 code of a text's language, None when it is too short, no language, or in doubt."""
    code = _detect_fast(_sample(text, _PASSAGE)) or _detect_slowly(text)
    if code is None:
        return None
    code = _SAME.get(code, code)
    if code == "ja" and not _KANA.search(text):
        # both detectors take short Chinese for Japanese, but no Japanese of this length does without kana
        code = "zh"
    return code if len(code) == 2 else None


def _detect_fast(sample: str) -> str | None:
    """Returns the code of a language that most of a sample is surely in."""
    data = sample.encode("utf-8", "ignore")
    if len(data.strip()) < _LEAST_BYTES:
        return None
    try:
        is_sure, _, found = pycld2.detect(data, isPlainText=True)
    except pycld2.error:
        # characters that the detector does not take
        return None
    _, code, percent, _ = found[0]
    return code if is_sure and percent >= _LEAST_PERCENT and code != "un" else None


def _detect_slowly(text: str) -> str | None:
    code, confidence = _classify(_sample(text, _SHORT))
    if confidence < _SURE and len(text) > _SHORT:
        code, confidence = _classify(_sample(text, _LONG))
    return code if confidence >= _ENOUGH else None


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
