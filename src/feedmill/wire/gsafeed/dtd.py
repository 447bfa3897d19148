"""The document type of feeds, as ``/getdtd`` and ``/gsafeed.dtd`` serve it to validators and connectors.

Feeds are not validated with it, because the parser accepts more (see docs/reference/feed-protocol.md). Connectors look for the literal
``<!ELEMENT acl`` to detect support of ACLs and their inheritance.
Source: googlegsa/gsafeed, ``examples/gsafeed.dtd``.
"""

DTD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- Feedmill: what a feed may hold. Public identifier: -//Google//DTD GSA Feeds//EN -->

<!ELEMENT gsafeed (header, group+)>

<!-- The fields posted beside the feed win over the header. -->
<!ELEMENT header (datasource, feedtype)>
<!-- A letter or underscore, then letters, digits, underscores and hyphens. -->
<!ELEMENT datasource (#PCDATA)>
<!-- full, incremental or metadata-and-url -->
<!ELEMENT feedtype (#PCDATA)>

<!-- What a group says holds for those of its records that do not say otherwise. -->
<!ELEMENT group ((acl|record)*)>
<!ATTLIST group
  action (add|delete) "add"
  pagerank CDATA #IMPLIED
  feedrank CDATA #IMPLIED>

<!ELEMENT record (acl?, metadata*, content*)>
<!ATTLIST record
  url CDATA #REQUIRED
  displayurl CDATA #IMPLIED
  action (add|delete) #IMPLIED
  mimetype CDATA #REQUIRED
  last-modified CDATA #IMPLIED
  lock (true|false) "false"
  authmethod (none|httpbasic|ntlm|httpsso|negotiate) #IMPLIED
  pagerank CDATA #IMPLIED
  feedrank CDATA #IMPLIED
  crawl-immediately (true|false) "false"
  crawl-once (true|false) "false"
  scoring (content|web) #IMPLIED>

<!ELEMENT metadata (meta*)>
<!ATTLIST metadata
  overwrite-acls (true|false) "true">
<!-- base64binary: name and content are both base64. -->
<!ELEMENT meta EMPTY>
<!ATTLIST meta
  encoding (base64binary) #IMPLIED
  name CDATA #REQUIRED
  content CDATA #REQUIRED>

<!-- base64compressed: a zlib stream, in base64. -->
<!ELEMENT content (#PCDATA)>
<!ATTLIST content
  encoding (base64binary|base64compressed) #IMPLIED>

<!-- Directly in a group an ACL names the URL that it stands for; in a record it is the record's. -->
<!ELEMENT acl (principal*)>
<!ATTLIST acl
  url CDATA #IMPLIED
  inheritance-type (child-overrides|parent-overrides|and-both-permit|leaf-node) "leaf-node"
  inherit-from CDATA #IMPLIED>

<!ELEMENT principal (#PCDATA)>
<!ATTLIST principal
  scope (user|group) #REQUIRED
  access (permit|deny) #REQUIRED
  namespace CDATA "Default"
  case-sensitivity-type (everything-case-sensitive|everything-case-insensitive) "everything-case-sensitive"
  principal-type (unqualified) #IMPLIED>
"""
"""The text itself."""
