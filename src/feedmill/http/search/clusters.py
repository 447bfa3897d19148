"""``/cluster``: the best results of a search, grouped by subject.

``coutput=xml`` returns XML, anything else JSON. The other parameters are those of ``/search``, with the same values.
Source: Search Protocol Reference, dynamic result clusters; googlearchive/gsa-admin-toolkit, ``load.py``.
"""

import json
from dataclasses import replace
from html import escape

from starlette.requests import Request
from starlette.responses import Response

from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.common.currentuser import Identify
from feedmill.http.common.searchthreads import find_deadline
from feedmill.http.search.gsaparameters import read_gsa_request, split_pairs
from feedmill.http.search.gsasearch import restrict
from feedmill.services.searching.clustering import Clusters, FindClusters, cluster_results
from feedmill.services.searching.searcher import Searcher
from feedmill.wire.xmltext import clean_text

ALGORITHM = "Concepts"


class ClusterRoute:
    """The route ``/cluster``."""

    def __init__(self, searcher: Searcher, identify: Identify, find_clusters: FindClusters) -> None:
        self._searcher = searcher
        self._identify = identify
        self._find_clusters = find_clusters

    def answer(self, request: Request) -> Response:
        """Returns groups of results."""
        gsa = read_gsa_request(split_pairs(bytes(request.scope["query_string"])))
        access = restrict(self._identify(request), gsa.access)
        found = cluster_results(self._searcher, replace(gsa.request, getfields=()), access, self._find_clusters, find_deadline(request))
        if gsa.values.get("coutput", "").lower() == "xml":
            return Response(render_xml(found), media_type="text/xml; charset=UTF-8", headers=PRIVATE_NO_CACHE)
        return Response(render_json(found), media_type="application/json", headers=PRIVATE_NO_CACHE)


def render_json(found: Clusters) -> bytes:
    """Renders clusters as the old appliance did. Shape: ``docs`` are positions in ``documents``, from 0."""
    groups = [{"label": cluster.label, "docs": list(cluster.places)} for cluster in found.clusters]
    documents = [
        {"url": result.display_url, "title": escape(result.title or "", quote=False), "snippet": escape(result.snippet.text, quote=False)}
        for result in found.results
    ]
    body = {"clusters": [{"algorithm": ALGORITHM, "clusters": groups}], "documents": documents}
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def render_xml(found: Clusters) -> bytes:
    """Renders clusters as XML."""
    parts = ['<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<toplevel>\n<Response>\n']
    parts.append(f'<algorithm data="{ALGORITHM}"/>\n<t_cluster int="{len(found.clusters)}"/>\n')
    for cluster in found.clusters:
        places = "".join(f'<doc int="{place}"/>' for place in cluster.places)
        parts.append(f'<cluster><gcluster><label data="{escape(clean_text(cluster.label))}"/></gcluster>{places}</cluster>\n')
    for result in found.results:
        url, title, snippet = (escape(clean_text(text)) for text in (result.display_url, result.title or "", result.snippet.text))
        parts.append(f'<document><url data="{url}"/><title data="{title}"/><snippet data="{snippet}"/></document>\n')
    parts.append("</Response>\n</toplevel>\n")
    return "".join(parts).encode("utf-8", "replace")
