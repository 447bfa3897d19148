"""Detects the language of a text.

There are two detectors: a fast one that reports when it is unsure, and a slow one for these cases. Both read a passage after the
beginning of the text, where pages have their menus. The cost of the slow one is linear in its sample, so it reads a short passage first
and a long one only in doubt.

The model of the slow detector takes a second to load and 130 MB. It is loaded once, before workers are forked, and all of them share it.
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
        # both detectors take short Chinese for Japanese, but Japanese of this length always has kana
        code = "zh"
    return code if len(code) == 2 else None


def _detect_fast(sample: str) -> str | None:
    """Returns the code of a language if most of a sample is surely in it."""
    data = sample.encode("utf-8", "ignore")
    if len(data.strip()) < _LEAST_BYTES:
        return None
    try:
        is_sure, _, found = pycld2.detect(data, isPlainText=True)
    except pycld2.error:
        # characters that the detector does not support
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
        # Characters beyond ASCII take two bytes or more, and the cost of the detectors grows with the bytes.
        characters = characters * 2 // 3
    start = max(0, min(len(text) // 4, len(text) - characters))
    return text[start : start + characters]


def _classify(sample: str) -> tuple[str | None, float]:
    if len(sample.strip().encode("utf-8", "ignore")) < _LEAST_BYTES:
        return None, 0.0
    code, confidence = load_model().classify(sample)
    return code, confidence
