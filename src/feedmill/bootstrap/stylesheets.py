"""Builds what stores and applies the stylesheets of front ends."""

from feedmill.adapters.xslt.folder import StylesheetFolder
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.bootstrap.context import AppContext
from feedmill.http.search.frontends import StylesheetEngine


def build_stylesheet_engine(context: AppContext) -> StylesheetEngine:
    """Builds the engine for stylesheets; it starts processes when they are first needed."""
    return StylesheetEngine(repository=StylesheetFolder(context.data / "stylesheets"), transformer=ProcessTransformer())
