"""``/opensearch.xml``: a description by which browsers offer this server among their search engines, with its suggestions.

Its addresses are those under which the request came. Source: OpenSearch 1.1 Draft 6; the extension for suggestions.
"""

from xml.sax.saxutils import escape, quoteattr

from starlette.requests import Request
from starlette.responses import Response

MEDIA_TYPE = "application/opensearchdescription+xml"
OPENSEARCH_PATH = "/opensearch.xml"
_NAME = "Feedmill"


def show_description(request: Request) -> Response:
    """Returns the description."""
    root = str(request.base_url).rstrip("/")
    urls = (
        ("text/html", "results", f"{root}/?q={{searchTerms}}&start={{startIndex?}}"),
        ("application/atom+xml", "results", f"{root}/search?q={{searchTerms}}&start={{startIndex?}}&num={{count?}}&match=auto&output=atom"),
        ("application/x-suggestions+json", "suggestions", f"{root}/suggest?q={{searchTerms}}"),
        (MEDIA_TYPE, "self", f"{root}{OPENSEARCH_PATH}"),
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">',
        f"<ShortName>{_NAME}</ShortName>",
        "<Description>Searches the documents that you may see.</Description>",
        "<InputEncoding>UTF-8</InputEncoding>",
        f'<Image width="32" height="32" type="image/svg+xml">{escape(root)}/static/icon.svg</Image>',
        *(f'<Url type="{kind}" rel="{relation}" indexOffset="0" template={quoteattr(template)}/>' for kind, relation, template in urls),
        "</OpenSearchDescription>",
    ]
    return Response("\n".join(lines) + "\n", media_type=MEDIA_TYPE, headers={"Cache-Control": "public, max-age=3600", "Vary": "Host"})
