"""What ``proxycustom=`` gives to a stylesheet: elements of its own names, read in the stylesheet's process, never in the server's.

Whoever makes a link chooses this text, and the page that comes of it is one of this server. So elements and attributes are in no namespace,
as those are that the old appliance's stylesheets look for (``<HOME/>``, ``<ADVANCED/>``): nothing of it is XHTML, and nothing is a DOCTYPE.
What is no well-formed XML is text.
Source: Search Protocol Reference, "Custom XML".
"""

from typing import Any, Final

from lxml import etree

from feedmill.model.errors import BadRequest

MAX_CUSTOM_BYTES: Final = 8_192
_XML_NAMESPACE: Final = "{http://www.w3.org/XML/1998/namespace}"


def check_custom(text: str) -> bytes:
    """Returns the bytes for ``read_custom``, which are empty for a blank text, without parsing them. Errors: BadRequest."""
    data = text.encode("utf-8", "replace") if text.strip() else b""
    if len(data) > MAX_CUSTOM_BYTES:
        raise BadRequest(f"proxycustom= has more than {MAX_CUSTOM_BYTES} bytes")
    return data


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
