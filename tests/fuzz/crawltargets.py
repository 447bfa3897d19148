"""What crawled sites and adaptors send, and the configuration of command line adaptors."""

import gzip

from feedmill.core.crawling.robots import parse_robots
from feedmill.model.errors import BadRequest
from feedmill.wire.adaptorconfig.keys import ConfigFaults, read_config
from feedmill.wire.adaptorconfig.properties import parse_properties
from feedmill.wire.gsaheaders.parse import parse_headers
from feedmill.wire.sitemaps.parse import MAX_URLS, parse_sitemap
from tests.fuzz.target import Finding, Target

_URL = "http://a.example.com/x/y?z"
_AGENT = "gsa-crawler"

_PROPERTIES = rb"""# of the old adaptor
gsa.hostname = gsa.example.com
commandline.lister.cmd = ./lister
commandline.lister.arg1: a \
   b\u00fc
commandline.retriever.cmd ./retriever
commandline.authorizer.cmd = ./authorizer
commandline.authorizer.delimeter = \n
metadata.transform.pipeline = one, two
metadata.transform.pipeline.one.factoryMethod = com.google.enterprise.adaptor.prebuilt.CommandLineTransform.create
metadata.transform.pipeline.one.cmd = /bin/cat
limits.retriever_seconds = 1.5
adaptor.fullListingSchedule = 0 3 * * *
"""
_SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>
<loc>http://a.example.com/1?a=b&amp;c=d</loc><lastmod>2026-11-20T10:00:00+01:00</lastmod></url><url><loc>/x</loc></url></urlset>"""
_INDEX = b"<sitemapindex><sitemap><loc>http://a.example.com/1.xml.gz</loc><lastmod>2026-11-20</lastmod></sitemap></sitemapindex>"
_ROBOTS = b"""# of a site
User-agent: gsa-crawler
Allow: /a/*.html$
Disallow: /a%2fb
Crawl-delay: 1.5
User-agent: *
Disallow: /
Sitemap: http://a.example.com/sitemap.xml
"""
_ACL = "acl=%7B%22entries%22%3A%5B%7B%22scope%22%3A%22user%22%2C%22access%22%3A%22permit%22%2C%22name%22%3A%22ann%22%7D%5D%7D"
_HEADERS = f"""x-gsa-external-metadata: author=Jane%20Doe,google%3Aaclusers=ann, tag=1+1%3D2
x-gsa-doc-controls: {_ACL}, display_url=http%3A%2F%2Fshown%2F
x-gsa-doc-controls: crawl_once=true, lock=false, scoring=content
x-gsa-external-anchor: words=http%3A%2F%2Fa.example.com%2F2, http%3A%2F%2Fa.example.com%2F3
x-gsa-serve-security: secure
x-robots-tag: gsa-crawler: noindex, nofollow
link: <http://a.example.com/c>; rel="canonical"
""".encode()


def read_properties(data: bytes) -> int:
    """Reads a configuration as ``config check`` does, which collects all faults."""
    values = parse_properties(data)
    faults = ConfigFaults()
    return len(repr(values)) + len(repr(read_config(values, faults))) + len(repr(faults.found))


def read_sitemap(data: bytes) -> int:
    """Reads a sitemap; what it lists is bounded."""
    found = parse_sitemap(data)
    if len(found.pages) + len(found.sitemaps) > MAX_URLS:
        raise Finding(f"{len(found.pages)} pages and {len(found.sitemaps)} sitemaps")
    return len(repr(found))


def read_robots(data: bytes) -> int:
    """Reads a robots.txt and judges URLs by it."""
    rules = parse_robots(data, _AGENT)
    return len(repr(rules)) + sum(rules.allows(url) for url in (_URL, "http://a.example.com/", "http://a.example.com/a%2Fb.html"))


def read_headers(data: bytes) -> int:
    """Reads the headers of a response, one a line."""
    lines = (line.partition(":") for line in data.decode("latin-1").split("\n"))
    headers = [(name.strip().lower(), value.strip()) for name, sign, value in lines if sign]
    return len(repr(parse_headers(headers, _URL, _AGENT)))


TARGETS = (
    Target(
        name="adaptor_config",
        run=read_properties,
        seeds=(_PROPERTIES,),
        errors=(BadRequest,),
        words=(b"\\", b"\\u", b"\\ud800", b"\\\n", b"=", b":", b"!", b"#", b".arg2=", b"commandline.", b"limits.", b"\r", b"\f", b"\0"),
    ),
    Target(
        name="sitemap",
        run=read_sitemap,
        seeds=(_SITEMAP, _INDEX, gzip.compress(_SITEMAP, mtime=0), b"http://a.example.com/1\nhttp://a.example.com/2\n"),
        words=(
            b"<url>",
            b"</url>",
            b"<loc>",
            b"</loc>",
            b"<lastmod>",
            b"<sitemap>",
            b"<!DOCTYPE",
            b"<!ENTITY",
            b"&amp;",
            b"]]>",
            b"\x1f\x8b",
        ),
    ),
    Target(
        name="robots",
        run=read_robots,
        seeds=(_ROBOTS, b"\xef\xbb\xbf" + _ROBOTS.replace(b"\n", b"\r")),
        words=(
            b"User-agent:",
            b"Disallow:",
            b"Allow:",
            b"*",
            b"$",
            b"%",
            b"%2f",
            b"***********",
            b"Crawl-delay:",
            b"Sitemap:",
            b"\0",
            b"\n",
        ),
    ),
    Target(
        name="crawl_headers",
        run=read_headers,
        seeds=(_HEADERS,),
        words=(
            b"%",
            b"%22",
            b"%7B",
            b"%5B",
            b"%7D",
            b"%00",
            b"=",
            b",",
            b"acl=",
            b"\nx-gsa-doc-controls: ",
            b"\nlink: <",
            b"rel=",
            b";",
            b"none",
        ),
    ),
)
