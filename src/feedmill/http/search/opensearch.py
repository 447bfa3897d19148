"""``/opensearch.xml``: a description by which browsers offer this server among their search engines, with its suggestions.

Its addresses are those under which the request came. Source: OpenSearch 1.1 Draft 6; the extension for suggestions.
"""

from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.pages.rendering import Pages, add_parameters, find_asset, find_choice, mark_language

MEDIA_TYPE = "application/opensearchdescription+xml"
OPENSEARCH_PATH = "/opensearch.xml"
_MAX_NAME, _MAX_LONG_NAME = 16, 48


class OpenSearch:
    """The route of the description."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def show(self, request: Request) -> Response:
        """Returns the description."""
        choice, brand = find_choice(request), self._pages.brands.find(request)
        root = str(request.base_url).rstrip("/")
        repeated = self._pages.find_repeated(request)
        same = "".join(f"&{name}={quote(value)}" for name, value in repeated.items())
        urls = (
            ("text/html", "results", f"{root}/?q={{searchTerms}}&start={{startIndex?}}{same}"),
            (
                "application/atom+xml",
                "results",
                f"{root}/search?q={{searchTerms}}&start={{startIndex?}}&num={{count?}}&match=auto&output=atom{same}",
            ),
            ("application/x-suggestions+json", "suggestions", f"{root}/suggest?q={{searchTerms}}{same}"),
            (MEDIA_TYPE, "self", add_parameters(f"{root}{OPENSEARCH_PATH}", repeated)),
        )
        description = choice.language.gettext("Searches the documents that you may see.")
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">',
            f"<ShortName>{escape(brand.title[:_MAX_NAME])}</ShortName>",
            f"<LongName>{escape(brand.title[:_MAX_LONG_NAME])}</LongName>",
            f"<Description>{escape(description)}</Description>",
            "<InputEncoding>UTF-8</InputEncoding>",
            f'<Image width="32" height="32">{escape(root + (brand.logo or find_asset("icon.svg")))}</Image>',
            *(f'<Url type="{kind}" rel="{relation}" indexOffset="0" template={quoteattr(template)}/>' for kind, relation, template in urls),
            "</OpenSearchDescription>",
        ]
        headers = {"Cache-Control": "public, max-age=3600", "Vary": "Host"}
        return mark_language(Response("\n".join(lines) + "\n", media_type=MEDIA_TYPE, headers=headers), choice)
