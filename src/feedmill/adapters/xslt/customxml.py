"""The element CUSTOM, which holds the XML of ``proxycustom=``.

A link can hold any such text, and the page that results is one of this server. Elements and attributes are therefore in no namespace, as
the appliance's stylesheets expect them (``<HOME/>``, ``<ADVANCED/>``): nothing of it is XHTML, and a DOCTYPE is refused. Text that is not
well-formed XML becomes the text of the element.
Source: Search Protocol Reference, "Custom XML".
"""

from typing import Any, Final

from lxml import etree

from feedmill.model.errors import BadRequest

_XML_NAMESPACE: Final = "{http://www.w3.org/XML/1998/namespace}"


def read_custom(data: bytes) -> etree._Element:
    """Makes the element CUSTOM. Errors: BadRequest for a DOCTYPE, and for names in a namespace."""
    custom = etree.Element("CUSTOM")
    options: dict[str, Any] = {"encoding": "utf-8", "resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    if b"<!DOCTYPE" in data:
        raise BadRequest("proxycustom= holds a DOCTYPE")
    try:
        root = etree.fromstring(data, etree.XMLParser(remove_comments=True, remove_pis=True, **options))
    except (etree.LxmlError, ValueError):
        text = data.decode("utf-8", "replace")
        custom.text = "".join(character if character.isprintable() else " " for character in text)
        return custom
    for element in root.iter():
        names = (str(element.tag), *(str(name) for name in element.attrib if not str(name).startswith(_XML_NAMESPACE)))
        if element.nsmap or any(name.startswith("{") for name in names):
            raise BadRequest("proxycustom= holds names of a namespace; a stylesheet is given elements without one, such as <HOME/>")
    custom.append(root)
    return custom
