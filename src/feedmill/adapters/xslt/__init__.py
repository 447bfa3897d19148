"""XSLT 1.0 by libxslt: stylesheets in a folder, and sandboxed processes that apply them."""
