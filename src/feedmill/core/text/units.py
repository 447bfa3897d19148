"""The units of numbers, with one name for all spellings of a unit: ``kg`` for ``kilos``, ``usd`` for ``$``.

Letter case never counts, so ``MB`` and ``Mb`` are both ``mb``. Yen and yuan share a sign and are one unit. Nothing is converted: a number
retains the unit that it was written with.
"""

CURRENCIES = frozenset(
    "usd eur gbp yen chf inr krw rub uah try ils pln czk huf ron sek nok dkk brl zar aud cad nzd sgd hkd mxn thb vnd aed sar".split()
)
"""The units of money."""

# name: other spellings; the sign or short form of a currency comes first
_SPELLINGS = """
usd: $ us$ dollar dollars
eur: € euro euros
gbp: £ pound-sterling
yen: ¥ ￥ 円 元 圓 圆 jpy cny rmb yuan
chf: fr. sfr franken
inr: ₹ rs rupees
krw: ₩ 원
rub: ₽ руб
uah: ₴ грн
try: ₺
ils: ₪
pln: zł zl
czk: kč
huf: ft.
sek: kr kronor
nok: kroner
dkk: kr.
brl: r$
aud: a$
cad: c$ ca$
nzd: nz$
hkd: hk$
sgd: s$
mxn: mx$
thb: ฿
vnd: ₫
mg: milligram milligrams
g: gr gram grams gramm grammes 克
kg: kgs kilo kilos kilogram kilograms kilogramm kilogrammes 公斤 千克 кг
t: ton tons tonne tonnes tonnen
lb: lbs pound pounds
oz: ounce ounces
um: µm μm
mm: millimeter millimeters millimetre millimetres мм
cm: centimeter centimeters centimetre centimetres см
m: meter meters metre metres mètres metros м 米
km: kilometer kilometers kilometre kilometres kilomètres км 公里
in: inch inches zoll
ft: foot feet
yd: yard yards
mi: mile miles
m2: m² qm sqm
km2: km²
ft2: ft² sqft
ha: hectare hectares hektar
acre: acres
m3: m³ cbm
cm3: cm³ ccm
ml: milliliter milliliters millilitre millilitres
cl: centiliter centilitre
dl: deciliter decilitre
l: liter liters litre litres litros л
hl: hectoliter hectolitre
gal: gallon gallons
bit: bits
byte: bytes
kb: kbyte kbytes kilobyte kilobytes
mb: mbyte mbytes megabyte megabytes мб
gb: gbyte gbytes gigabyte gigabytes гб
tb: tbyte tbytes terabyte terabytes
pb: petabyte petabytes
kib:
mib:
gib:
tib:
mbit: mbits
gbit: gbits
kbps: kbit/s kb/s
mbps: mbit/s mb/s
gbps: gbit/s gb/s
ns:
us: µs μs
ms: msec milliseconds
s: sec secs second seconds sekunden
min: mins minute minutes minuten minutos
h: hr hrs hour hours stunden heures horas
d: day days tage jours días
week: weeks wochen
month: months monate mois
year: years yr yrs jahre ans años
hz:
khz:
mhz:
ghz:
rpm:
fps:
mv:
v: volt volts
kv:
ma:
a: amp amps ampere
mah:
ah:
w: watt watts
kw: kilowatt kilowatts
mw: megawatt megawatts
gw:
wh:
kwh:
mwh:
va:
kva:
ohm: Ω ω ohms
j: joule joules
kj:
cal:
kcal:
hp: ps
nm: nanometer nanometers
degc: °c ℃
degf: °f ℉
bar: bars
mbar:
psi:
pa:
hpa:
kpa:
mpa:
db: dba
lm: lumen lumens
px: pixel pixels
mp: megapixel megapixels
dpi:
ppi:
kmh: km/h kph
mph:
pct: % percent prozent
permille: ‰
"""


def _read_spellings() -> dict[str, str]:
    found: dict[str, str] = {name: name for name in CURRENCIES}
    for line in _SPELLINGS.strip().splitlines():
        name, _, others = line.partition(":")
        found |= dict.fromkeys((name, *others.split()), name)
    return found


_UNITS = _read_spellings()
# these are also words of their own, and mean a unit only if they directly follow the number
_ATTACHED_ONLY = frozenset(("in", "a", "d", "us", "try", "second", "foot", "rs", "ps"))
# in a script without blanks, the text continues directly after its unit
_UNSPACED = tuple(spelling for spelling in _UNITS if spelling[0] >= "\u3000")


def find_unit(text: str) -> str | None:
    """Returns the unit that a text means in any spelling, None if it means none."""
    return _UNITS.get(text.lower())


def find_word_unit(text: str) -> str | None:
    """Returns the unit that a separate word next to a number means; None if it means none, or often means something else."""
    return None if text.lower() in _ATTACHED_ONLY else find_unit(text)


def find_leading_unit(text: str) -> str | None:
    """Returns the unit at the beginning of a text in a script without blanks, None if there is none."""
    return next((_UNITS[spelling] for spelling in _UNSPACED if text.startswith(spelling)), None)


def write_unit(unit: str) -> str:
    """Returns a unit for display: a currency by its code."""
    return unit.upper() if unit in CURRENCIES and unit != "yen" else unit


def accepts_unit(wanted: str, found: str) -> bool:
    """Whether a range with a unit ("" for any) includes a number with a unit ("" for none). Shape: a price may lack its sign."""
    return not wanted or wanted == found or (not found and wanted in CURRENCIES)


def unit_pattern(wanted: str) -> str:
    """Returns the regular expression for the units that ``accepts_unit`` accepts."""
    if not wanted:
        return "[0-9a-z]*"
    return f"({wanted})?" if wanted in CURRENCIES else wanted
