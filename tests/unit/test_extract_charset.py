import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.extract.charset import decode, find_codec
from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.sniff import find_charset, sniff
from feedmill.adapters.extract.utf16 import guess_utf16
from feedmill.model.extraction import ExtractionLimits, Task

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


@pytest.mark.parametrize(
    ("declared", "charset"),
    [
        ("text/html; charset=ISO-8859-1", "ISO-8859-1"),
        ("text/html;Charset = 'Shift_JIS' ; x=y", "Shift_JIS"),
        ('text/html; boundary=a; charset="utf-8"', "utf-8"),
        ("text/html; charset=", None),
        ("text/html", None),
        ("", None),
        (None, None),
    ],
)
def test_charset_of_a_declared_type_is_found(declared: str | None, charset: str | None) -> None:
    assert find_charset(declared) == charset


@pytest.mark.parametrize("declared", ["text/plain; charset=iso-8859-1", "text/html; charset=iso-8859-1"])
def test_declared_charset_decodes_what_a_detector_would_mistake(declared: str) -> None:
    data = "Größe naïve".encode("latin-1")
    assert extract(Task(key=1, url="http://a/", mimetype=declared, data=data), ExtractionLimits()).text == "Größe naïve"
    stated = extract(Task(key=1, url="http://a/", mimetype="text/plain; charset=cp1251", data=data, charset="latin-1"), ExtractionLimits())
    assert stated.text == "Größe naïve"
    unicode = extract(Task(key=1, url="http://a/", mimetype=declared, data="Größe naïve".encode()), ExtractionLimits())
    assert unicode.text == "Größe naïve"


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
def test_decode_any_bytes_returns_text(data: bytes, label: str | None) -> None:
    assert isinstance(decode(data, label, is_markup=True), str)


# sentences in the charsets that texts of their language were once written in
UNLABELLED = [
    ("fr", "iso8859-1", "Les élèves ont été très heureux de découvrir la forêt où vivait le vieux chêne, à côté de la rivière."),
    ("de", "iso8859-1", "Die Größe des Gebäudes überraschte alle Gäste, die früher nur kleine Häuser gesehen hatten."),
    ("es", "iso8859-1", "El niño pequeño comió una piña mañana por la mañana y después salió a la montaña con su compañía."),
    ("pl", "iso8859-2 cp1250", "Zażółć gęślą jaźń. Książka leży na stole, a źródło wody płynie przez łąkę pod górą."),
    ("cs", "iso8859-2 cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Šťastný člověk žije v malém městě."),
    ("sl", "iso8859-2 cp1250", "Dobrodošli na naši spletni strani. Še vedno čakamo na vašo žlico in češnje."),
    ("hr", "iso8859-2", "Dobrodošli na našu stranicu. Želimo vam uspješan dan i puno sreće, šaljemo čestitke."),
    ("hu", "iso8859-2", "Árvíztűrő tükörfúrógép. A gyönyörű őszi erdőben hűvös szél fújt, és hullottak a levelek."),
    ("eo", "iso8859-3", "Ĉiuj homoj estas denaske liberaj kaj egalaj laŭ digno kaj rajtoj. Eĥoŝanĝo ĉiuĵaŭde."),
    ("lt", "iso8859-4 iso8859-13 cp1257", "Šiaurės vėjas ir saulė ginčijosi, kuris iš jų yra stipresnis, žmogus ėjo keliu įsisupęs."),
    ("lv", "iso8859-13", "Ziemelis un saule strīdējās, kurš no viņiem esot stiprāks, kad gāja garām ceļinieks ietinies."),
    ("ru", "iso8859-5 koi8-r cp1251", "Все люди рождаются свободными и равными в своём достоинстве и правах."),
    ("uk", "koi8-u", "Всі люди народжуються вільними і рівними у своїй гідності та правах. Їжак їсть ґудзик."),
    ("uk", "cp1251", "Всі люди народжуються вільними і рівними у своїй гідності та правах."),
    ("bg", "cp1251", "Всички хора се раждат свободни и равни по достойнство и права."),
    ("ar", "iso8859-6 cp1256", "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق وقد وهبوا عقلا وضميرا"),
    ("el", "iso8859-7 cp1253", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα."),
    ("he", "iso8859-8", "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם"),
    ("tr", "iso8859-9", "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Işığı söndürmeyi unutmuş."),
    ("fr", "iso8859-15", "Le cœur de la ville coûte 50 € et l'été est très chaud à côté de la forêt."),
    ("ja", "euc_jp shift_jis iso2022_jp", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"),
    ("ko", "euc_kr iso2022_kr", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."),
    ("zh", "gb2312 gb18030", "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。"),
    ("zh", "hz", "人人生而自由,在尊严和权利上一律平等。"),
    ("zh-tw", "big5", "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心,並應以兄弟關係的精神互相對待。"),
    ("he", "cp1255", "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם"),
    ("he", "cp1255", "הוא אמר: „שלום” – ואז הלך… מחיר: 50 ₪"),
    ("he", "cp1255", "כָּל בְּנֵי הָאָדָם נוֹלְדוּ בְּנֵי חוֹרִין וְשָׁוִים בְּעֶרְכָּם"),
    ("zh", "gb18030", "㐂与䶮都是少见的字,𠮷野家的朱镕基和喆堃同志参加了会议,价格是€50元。"),
    ("zh-tw", "gb18030", "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心,並應以兄弟關係的精神互相對待。"),
    ("fr", "cp1252", "Les élèves ont été très heureux de “découvrir” la forêt – où vivait le vieux chêne… 50 €"),
]
WORDS = [
    ("iso8859-2", "dobrodo\u0161li"),
    ("iso8859-2", "Dobrodo\u0161li na na\u0161i strani"),
    ("iso8859-2", "\u0160\u0165astn\u00fd \u010dlov\u011bk"),
    ("cp1250", "\u0160\u0165astn\u00fd \u010dlov\u011bk"),
    ("cp1252", "Gr\u00f6\u00dfe"),
    ("cp1252", "caf\u00e9"),
    ("cp1252", "Stra\u00dfe in M\u00fcnchen"),
    ("cp1252", "na\u00efve fa\u00e7ade"),
    ("cp1251", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440"),
    ("koi8-r", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440"),
    ("cp1253", "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5"),
    ("euc_jp", "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059"),
    ("shift_jis", "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059"),
    ("gb2312", "\u4e2d\u6587\u6587\u672c\u6d4b\u8bd5"),
    ("euc_kr", "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8"),
]


@pytest.mark.parametrize(("charset", "text"), [(charset, text) for _, charsets, text in UNLABELLED for charset in charsets.split()])
@pytest.mark.parametrize("before", ["", "Plain words, and more of them.\n" * 400], ids=["alone", "behind-ascii"])
def test_decode_without_label_every_charset_of_a_language_is_recognized(charset: str, text: str, before: str) -> None:
    assert decode((before + text).encode(charset)) == before + text
    assert decode((before + (text + "\n") * 300).encode(charset)) == before + (text + "\n") * 300


# tones are characters of their own, other marks are not
VIETNAMESE = "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm. ĐƯỜNG ĐI KHÓ: Xin chào các bạn"
_TONES = re.compile("[\u0300\u0301\u0303\u0309\u0323]")


def _encode_cp1258(text: str) -> bytes:
    letters = []
    for letter in text:
        apart = unicodedata.normalize("NFD", letter)
        letters += [unicodedata.normalize("NFC", _TONES.sub("", apart)), *_TONES.findall(apart)]
    return "".join(letters).encode("cp1258")


@pytest.mark.parametrize("count", [1, 300])
@pytest.mark.parametrize("text", [VIETNAMESE, "Xin chào các bạn", "Đường đi khó không khó vì ngăn sông cách núi"])
@pytest.mark.parametrize("label", [None, "windows-1258"])
def test_decode_vietnamese_has_tones_on_their_vowels(text: str, count: int, label: str | None) -> None:
    assert decode(_encode_cp1258((text + "\n") * count), label) == (text + "\n") * count


WIDE = {
    "Russian": "Все люди рождаются свободными и равными.",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται",
    "Hebrew": "כל בני האדם נולדו בני חורין",
    "Arabic": "يولد جميع الناس أحرارا متساوين",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में",
    "Tamil": "மனிதப் பிறிவியினர் சகலரும்",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระ",
    "Burmese": "လူတိုင်းသည် တူညီ",
    "Georgian": "ყველა ადამიანი იბადება თავისუფალი",
    "Armenian": "Բոլոր մարդիկ ծնվում են ազատ",
    "Amharic": "የሰው ልጅ ሁሉ ሲወለድ ነጻና",
    "Khmer": "មនុស្សទាំងអស់ កើតមក",
    "Vietnamese": VIETNAMESE,
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과",
    "Japanese": "すべての人間は、生まれながらにして自由であり、",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心",
    "Chinese without blanks": "人人生而自由在尊严和权利上一律平等",
    "half Russian": "Anna Karenina: Все счастливые семьи похожи друг на друга. All happy families are alike.",
}


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("language", WIDE)
@pytest.mark.parametrize("count", [1, 300])
def test_decode_utf16_without_mark_is_recognized_in_every_script(language: str, codec: str, count: int) -> None:
    text = "\n".join([WIDE[language]] * count)
    assert decode(text.encode(codec)) == text
    assert sniff(text.encode(codec), "text/plain") == "text/plain"
    page = f"<html><head><title>{WIDE[language]}</title></head><body><p>{text}</p></body></html>"
    assert decode(page.encode(codec), is_markup=True) == page
    assert sniff(page.encode(codec), None) == "text/html"


@pytest.mark.parametrize(
    "charset", ["utf-8", "shift_jis", "euc_jp", "gb18030", "big5hkscs", "cp949", "koi8-r", "cp1251", "cp1255", "cp1252"]
)
@pytest.mark.parametrize("control", ["\x01", "\x01\x02", "\x08"])
def test_decode_other_charsets_with_control_characters_are_no_utf16(charset: str, control: str) -> None:
    for text in WIDE.values():
        for spoilt in (text + control, control + text, (text[:20] + control + text[20:]) * 20, text.replace(" ", "") + control):
            assert guess_utf16(spoilt.encode(charset, "ignore")) is None


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\0\1", b"ab\0", bytes(range(256)) * 20, b"\0" * 5_000, b"\x1f\x8b\x08\x00" * 9, b"\6\0" * 900]
)
def test_guess_utf16_binary_data_is_none(data: bytes) -> None:
    assert guess_utf16(data) is None


def test_guess_utf16_random_data_is_none() -> None:
    chance = random.Random(1)
    for length in (20, 40, 100, 4_000):
        assert [data for data in (chance.randbytes(length) for _ in range(300)) if guess_utf16(data) is not None] == []


@pytest.mark.parametrize(("charset", "text"), WORDS)
@pytest.mark.parametrize("ends", ["", "\n"])
@pytest.mark.parametrize("count", [1, 50, 3_000])
def test_decode_without_label_few_words_are_recognized(charset: str, text: str, ends: str, count: int) -> None:
    many = f"{text}{ends or ' '}" * count if count > 1 else text + ends
    assert decode(many.encode(charset)) == many


@pytest.mark.parametrize("text", ["(format t ~{~A~^, ~}) ~{ab~}", "\x1b[1mbold\x1b[0m", "~{", "cost: \x1b$5"])
def test_decode_text_that_shifts_nowhere_stays_as_it_is(text: str) -> None:
    assert decode(text.encode()) == text


def test_decode_utf8_with_broken_bytes_behind_much_ascii_stays_utf8() -> None:
    text = "plain " * 5_000 + "f\u00fcr Gr\u00f6\u00dfe " * 20
    assert decode(text.encode() + b"\xff!") == text + "\ufffd!"


@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from([b"\x1b$B", b"\x1b(B", b"~{", b"~}", b"ab", b"\xe9", b"\xa4\xa2", b" ", b"\xff", b"\0"])).map(b"".join)
)
def test_decode_any_bytes_become_text(data: bytes) -> None:
    assert isinstance(decode(data), str)
    assert isinstance(decode(data, "iso-2022-jp", is_markup=True), str)


@pytest.mark.parametrize(
    "text",
    [
        "seguita da una stringa si può modificare il prompt predefinito.",
        "primo file è stato letto.",
        "web. La scelta del browser è opzionale ed è determinata",
        "paramètres sont accolés sans séparateurs.",
        "être supprimés ou renommés.",
        "Você pode assistir seu administrador para instalar o kernel mais recente",
    ],
)
def test_few_letters_among_words_of_a_western_language_are_western(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("błąd przy dodawaniu paczki %s", "iso8859-2"),
        ("(tylko języki C, C++, ObjectiveC, Shell,", "cp1250"),
        ("neplatný stav spojení, pravděpodobně způsobený pamětí", "cp1250"),
        ("Son Parola Değişimi", "cp1254"),
        ("Он и я", "cp1251"),
    ],
)
def test_few_letters_of_other_languages_stay_theirs(text: str, codec: str) -> None:
    assert decode(text.encode(codec)) == text
