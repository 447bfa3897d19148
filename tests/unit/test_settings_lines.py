from feedmill.settings.lines import find_lines, nearest_line

TEXT = '''# a comment with [brackets] and = signs
top = 1
[gate]   # another
"port" = 19900
name.first = "x # no comment"
text = """
[not.a.table]
key = "no key"
"""
trusted = [
  "a", # one
  "b]",
]
[[crawl.access]]
pattern = 'x'
[[crawl.access]]
pattern = "y"
[crawl.access.deep]
key = {inner = 1, list = [{last = 2}]}
at = 2024-01-02 03:04:05
'''


def test_find_lines_of_every_form_returns_the_line_of_each() -> None:
    lines = find_lines(TEXT)
    assert lines[("top",)] == 2
    assert lines[("gate", "port")] == 4
    assert lines[("gate", "name", "first")] == 5
    assert lines[("gate", "trusted", 0)] == 11
    assert lines[("gate", "trusted", 1)] == 12
    assert lines[("crawl", "access", 1, "pattern")] == 17
    assert lines[("crawl", "access", 1, "deep", "key", "list", 0, "last")] == 19
    assert lines[("crawl", "access", 1, "deep", "at")] == 20
    assert not any("not" in path for path in lines)


def test_nearest_line_of_an_unknown_key_is_that_of_its_table() -> None:
    lines = find_lines(TEXT)
    assert nearest_line(lines, ("gate", "missing")) == 3
    assert nearest_line(lines, ("nowhere",)) == 0


def test_find_lines_of_quoted_and_escaped_keys_keeps_counting() -> None:
    lines = find_lines('"a.b" = "x\\"y" # "\n[ "t" . u ]\nv = \'\'\'\n\n\'\'\'\nw = 1\n')
    assert lines == {("a.b",): 1, ("t", "u"): 2, ("t", "u", "v"): 3, ("t", "u", "w"): 6}
