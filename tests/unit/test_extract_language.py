import pytest

from feedmill.adapters.extract.language import detect_language

SENTENCES = {
    "de": "Die Katze sitzt auf dem Dach und schaut den Vögeln zu.",
    "fr": "Le chat est assis sur le toit et regarde les oiseaux.",
    "es": "El gato está sentado en el tejado y mira los pájaros.",
    "nl": "De kat zit op het dak en kijkt naar de vogels.",
    "pl": "Kot siedzi na dachu i patrzy na ptaki.",
    "ja": "猫は屋根の上に座って鳥を見ています。",
    "zh": "猫坐在屋顶上看着鸟儿。我们今天去图书馆学习。",
    "ko": "고양이가 지붕에 앉아 새를 보고 있습니다.",
    "el": "Η γάτα κάθεται στη στέγη και κοιτάζει τα πουλιά.",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_detect_language_of_a_sentence(code: str) -> None:
    assert detect_language(SENTENCES[code]) == code


def test_detect_language_looks_behind_the_menu() -> None:
    menu = "Home Products News Contact Login Search Help Sitemap "
    assert detect_language(menu + SENTENCES["de"] * 10) == "de"


@pytest.mark.parametrize("text", ["", "OK", "Q3 2024", "12345 67890 11 22 33 44 55", "\n"])
def test_detect_language_in_doubt_is_none(text: str) -> None:
    assert detect_language(text) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("北京大学是中国著名的大学。上海市", "zh"),
        ("东京大学是日本著名的国立大学", "zh"),
        ("上海市人民政府办公厅", "zh"),
        ("東京都立図書館で本を借りる。", "ja"),
        ("カタログ請求窓口電話番号", "ja"),
    ],
)
def test_detect_language_of_short_han_text_is_japanese_only_with_kana(text: str, code: str) -> None:
    assert detect_language(text) == code
