"""What administrators supply: settings files, and files of the old appliance."""

import tempfile
from pathlib import Path

from feedmill.model.errors import BadRequest
from feedmill.settings.load import load_settings
from feedmill.wire.applianceconfig.faults import decode_file
from feedmill.wire.applianceconfig.parse import read_keymatches, read_related, read_synonyms
from feedmill.wire.applianceconfig.policies import read_policies, render_policies
from tests.fuzz.target import Target

_SETTINGS = b"""[gate]
port = 19900
bind = "127.0.0.1"
trusted = ["127.0.0.0/8", "::1"]
[urls]
follow = ["/", "regexp:a.*b"]
[limits]
max_documents = 10
[[collections]]
name = "press"
include = ["example.com/press/"]
[[frontends]]
name = "default_frontend"
keymatches = [{type = "keyword", term = "a", url = "http://x/", title = "b"}]
[[synonyms]]
two_way = [["car", "automobile"]]
[signin.proxy]
trusted = ["10.0.0.0/8"]
"""
_KEYMATCHES = b'"travel costs",PhraseMatch,http://a.example.com/,"Title, with comma"\r\n# remark\r\nword,KeywordMatch,http://b/,T\r\n'
_RELATED = b"query,other query\n"
_SYNONYMS = b"# remark\n{ car, automobile, auto }\nbike > bicycle\n"
_POLICIES = b"""example.com/secret/ group:eng user:CORP\\\\ann right=permit
"a b/" user:"x y" namespace="n n" case=insensitive
"""
_POLICY_FEED = b"""<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xmlns:gsa="http://schemas.google.com/gsa/2007"><entry>
<gsa:content name="urlPattern">example.com/</gsa:content><gsa:content name="acl">group:eng user:ann</gsa:content></entry></feed>"""
_WORDS = tuple(
    b"[ ] [[ ]] { } = \" ''' \\u0000 # , inf nan 1979-05-27 0x10 group: user: right= namespace= > regexp: <entry> </feed> <![CDATA[".split()
)


def read_settings(data: bytes) -> int:
    """Reads a settings file."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(data)
        file.flush()
        return len(repr(load_settings(Path(file.name), {}).warnings))


def read_appliance_files(data: bytes) -> int:
    """Reads a file as each kind that the old appliance exports; policies that were read are written and read again."""
    text = decode_file(data)
    size = 0
    for read in (read_keymatches, read_related, read_synonyms):
        try:
            size += len(repr(read(text)))
        except BadRequest as exc:
            size += len(str(exc))
    policies = read_policies(text)
    assert read_policies(render_policies(policies)) == policies
    return size + len(repr(policies))


TARGETS = (
    Target(name="settings", run=read_settings, seeds=(_SETTINGS,), errors=(BadRequest,), words=_WORDS, inputs_in_suite=60),
    Target(
        name="appliance_files",
        run=read_appliance_files,
        seeds=(_POLICIES, _POLICY_FEED, _KEYMATCHES, _RELATED, _SYNONYMS),
        errors=(BadRequest,),
        words=_WORDS,
    ),
)
