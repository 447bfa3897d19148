"""A small library of an organisation that does not exist, for looking at the search page."""

from tests.appliance import Appliance
from tests.builders.feedxml import make_feed, make_record

SETTINGS = """
[[frontends]]
name = "default_frontend"
keymatches = [{type = "keyword", term = "travel", url = "http://intranet.example.org/travel/", title = "Book a trip"}]
related = [{term = "travel", query = "hotel"}]
facets = [
  {name = "department", label = "Department"},
  {name = "kind", label = "Kind of document"},
  {name = "price", label = "Cost in euros", type = "currency", ranges = ["..100", "100..500", "500.."]},
  {name = "published", label = "Published", type = "date", ranges = ["..2024-12-31", "2025-01-01..2025-12-31", "2026-01-01.."]},
]
"""

DEPARTMENTS = ("Legal Affairs", "Human Resources", "Finance", "Research", "Facilities", "Press Office", "Procurement", "Works Council")
KINDS = ("Policy", "Form", "Report", "Minutes")
SUBJECTS = (
    ("Travel expenses", "Expenses of travel are refunded when receipts are handed in within thirty days; trains come before planes."),
    ("Travel policy for trips abroad", "Whoever travels abroad asks for approval, for a visa and for insurance before tickets are bought."),
    ("Hotel rates of the year", "Rates agreed with hotels near our offices; a travel request names the hotel and the number of nights."),
    ("Remote work", "Work from home is agreed with the team; travel between home and office is not refunded."),
    ("Parental leave", "Leave is announced seven weeks ahead. The form asks for the weeks and for who may travel with the child."),
    ("Laptop replacement", "A laptop is replaced after four years; one lost on travel is reported at once."),
)
TYPES = (("text/html", "html"), ("text/plain", "txt"), ("text/csv", "csv"), ("text/xml", "xml"), ("message/rfc822", "eml"))
FOREIGN = (
    ("ar", "سياسة السفر", "تسدد نفقات السفر خلال ثلاثين يوما. travel القطار قبل الطائرة وتطلب الموافقة قبل شراء التذاكر."),
    ("he", "מדיניות נסיעות", "הוצאות נסיעה מוחזרות בתוך שלושים יום travel רכבת קודמת למטוס ואישור נדרש לפני קנייה."),
    ("ja", "出張旅費規程", "出張旅費は三十日以内に精算する。travel 航空機よりも鉄道を優先し、事前に承認を得ること。"),
    (
        "de",
        "Reisekosten und Größe des Gepäcks",
        "Reisekosten werden erstattet (travel), wenn Belege in dreißig Tagen vorliegen.",
    ),
)


def documents() -> list[str]:
    """Returns the records of all documents."""
    found = []
    for number in range(48):
        title, text = SUBJECTS[number % len(SUBJECTS)]
        mimetype, ending = TYPES[number % len(TYPES)] if number % 3 == 0 else TYPES[0]
        year = 2023 + number % 4
        metadata = [
            ("department", DEPARTMENTS[number % len(DEPARTMENTS)]),
            ("kind", KINDS[number % len(KINDS)]),
            ("price", str(number * 17)),
            ("published", f"{year}-0{number % 9 + 1}-15"),
        ]
        name = f"{title}, part {number // len(SUBJECTS) + 1}"
        found.append(
            make_record(
                f"http://intranet.example.org/{'-'.join(title.lower().split())}/{number}.{ending}",
                _content(mimetype, name, f"{text} Paragraph {number} says more about {title.lower()}."),
                metadata,
                mimetype=mimetype,
                last_modified=f"{year}-0{number % 9 + 1}-15",
            )
        )
    for number, (language, title, text) in enumerate(FOREIGN):
        page = f'<html lang="{language}"><head><title>{title}</title></head><body><p>{text}</p></body></html>'
        found.append(make_record(f"http://intranet.example.org/{language}/{number}.html", page, [("department", DEPARTMENTS[number])]))
    return found


def _content(mimetype: str, title: str, text: str) -> str:
    match mimetype:
        case "text/html":
            return f"<html lang='en'><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
        case "text/xml":
            return f"<page><title>{title}</title><p>{text}</p></page>"
        case "message/rfc822":
            return f"From: a@example.org\nTo: b@example.org\nSubject: {title}\nDate: Mon, 2 Mar 2026 10:00:00 +0000\n\n{text}\n"
        case _:
            return f"{title}\n{text}\n"


def fill(appliance: Appliance) -> None:
    """Feeds the library to a server and waits until it is found."""
    appliance.feed(make_feed(*documents()), "library")
