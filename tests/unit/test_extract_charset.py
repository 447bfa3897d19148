import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.charset import decode, find_codec

TEXTS = {
    "shift_jis": "これは日本語のテキストです。文字コードを検出する試験です。",
    "euc-jp": "これは日本語のテキストです。文字コードを検出する試験です。",
    "iso-2022-jp": "これは日本語のテキストです。",
    "gbk": "这是一个中文文本，用于测试字符编码检测功能。我们希望它能正确识别。",
    "euc-kr": "이것은 한국어 텍스트입니다. 문자 인코딩 감지 시험입니다.",
    "big5": "這是一個中文文本，用於測試字元編碼檢測功能。",
    "windows-1250": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "windows-1251": "Это русский текст для проверки определения кодировки документа.",
    "windows-1252": "Une phrase “française” avec des caractères accentués",
    "windows-1253": "Αυτό είναι ένα ελληνικό κείμενο για δοκιμή",
    "windows-1255": "זהו טקסט בעברית לבדיקה",
    "windows-1256": "هذا نص عربي لاختبار الترميز",
    "koi8-r": "Это русский текст для проверки определения кодировки документа.",
    "utf-8": "Größe über これは",
}


@pytest.mark.parametrize("charset", TEXTS)
def test_decode_with_protocol_label_is_exact(charset: str) -> None:
    assert decode(TEXTS[charset].encode(charset), charset) == TEXTS[charset]


@pytest.mark.parametrize("charset", TEXTS)
def test_decode_with_meta_label_is_exact(charset: str) -> None:
    page = f'<html><head><meta http-equiv="Content-Type" content="text/html; charset={charset}"></head><p>{TEXTS[charset]}'
    assert decode(page.encode(charset), is_markup=True) == page


@pytest.mark.parametrize("charset", sorted(set(TEXTS) - {"windows-1250", "iso-2022-jp"}))
def test_decode_without_label_is_detected(charset: str) -> None:
    text = (TEXTS[charset] + " ") * 4
    assert decode(text.encode(charset)) == text


@pytest.mark.parametrize("codec", ["utf-16", "utf-32", "utf-8-sig", "utf-16-le", "utf-16-be"])
def test_decode_unicode_with_mark_or_zero_bytes_needs_no_label(codec: str) -> None:
    assert decode("<p>Plain text für alle</p>".encode(codec), "iso-8859-1") == "<p>Plain text für alle</p>"


def test_decode_utf8_under_a_wrong_label_is_utf8() -> None:
    assert decode("<meta charset=iso-8859-1>Größe über".encode(), is_markup=True).endswith("Größe über")


def test_decode_utf8_cut_in_a_character_stays_utf8() -> None:
    assert decode("Größe über alles für".encode()[:-2]).startswith("Größe über alles f")


def test_decode_utf8_with_one_broken_byte_stays_utf8() -> None:
    assert "für" in decode(("für Größe " * 20).encode() + b"\xff" + "für".encode())


def test_decode_nonsense_label_is_ignored() -> None:
    assert decode(b"plain", "base64") == "plain"
    assert decode("é".encode(), "no-such-charset") == "é"


def test_find_codec_takes_supersets() -> None:
    assert (find_codec("ISO-8859-1"), find_codec("gb2312"), find_codec('"utf8"')) == ("cp1252", "gb18030", "utf-8")
    assert find_codec("rot13") is None
    assert find_codec("hex") is None


@given(st.binary(max_size=300), st.none() | st.sampled_from(["utf-8", "shift_jis", "utf-16", "hz", "utf-7", "iso-2022-kr", "x-none", ""]))
def test_decode_any_bytes_gives_text(data: bytes, label: str | None) -> None:
    assert isinstance(decode(data, label, is_markup=True), str)
