"""The settings of the crawler as its fetcher gets them."""

from pathlib import Path

from feedmill.adapters.crawling.options import AccessScheme
from feedmill.bootstrap.crawlfetching import build_fetch_options
from tests.builders.settings import load_text


def test_settings_reach_the_fetcher(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file\n")
    (tmp_path / "cert.pem").write_text("")
    options = build_fetch_options(
        load_text(
            tmp_path,
            """
            [urls]
            do_not_follow = ["private.example.com/"]
            [crawl]
            mail = "admin@example.com"
            allow_private = ["10.0.0.1/"]
            max_redirects = 3
            access = [
              {pattern = "a.com/", user = "u", password_file = "secret", domain = "D"},
              {pattern = "b.com/", method = "digest", user = "u", password = "p", make_public = true},
              {pattern = "c.com/", method = "form", user = "u", login_url = "https://c.com/in", fields = [{name = "f", value = "v"}]},
              {pattern = "d.com/", method = "certificate", certificate = "cert.pem"},
              {pattern = "e.com/", method = "bearer", token_url = "https://e.com/token", client_id = "i", client_secret_file = "secret"},
              {pattern = "f.com/", method = "bearer", token = "t"},
            ]
            proxies = [{pattern = "x.com/"}, {pattern = "/", url = "http://proxy.example.com:8080", user = "u", password = "p"}]
            headers = [{pattern = "/", name = "Accept-Language", value = "de"}]
            smb_shares = [
              {prefix = "smb://files/docs/", user = "u", domain = "D", password_file = "secret"},
              {prefix = "smb://10.0.0.1:4450/a%20b/", user = "u", everyone = "All", share_acl = false, namespace = "ad"},
            ]
            """,
        ).settings
    )

    assert options.user_agent == "gsa-crawler (Enterprise; Feedmill; admin@example.com)"
    assert (options.allow_private, options.max_redirects) == (("10.0.0.1/",), 3)
    assert options.follows("http://example.com/")
    assert not options.follows("http://private.example.com/")
    auto, digest, form, certificate, granted, fixed = options.access
    assert (auto.password, auto.domain, auto.schemes) == ("from a file", "D", tuple(AccessScheme))
    assert (digest.schemes, digest.make_public) == ((AccessScheme.DIGEST,), True)
    assert form.form is not None
    assert (form.form.login_url, form.form.fields, form.schemes) == ("https://c.com/in", (("f", "v"),), ())
    assert certificate.trust is not None
    assert certificate.trust.key == certificate.trust.certificate == str(tmp_path / "cert.pem")
    assert granted.grant is not None
    assert (granted.grant.client_secret, granted.token, fixed.token, fixed.grant) == ("from a file", "", "t", None)
    assert [(proxy.host, proxy.port) for proxy in options.proxies] == [("", 3128), ("proxy.example.com", 8080)]
    files, other = options.smb_shares
    assert (files.host, files.port, files.share, files.user, files.password) == ("files", 445, "docs", r"D\u", "from a file")
    assert (other.host, other.port, other.share, other.everyone, other.namespace) == ("10.0.0.1", 4450, "a b", "All", "ad")
    assert (files.reads_share_acl, other.reads_share_acl) == (True, False)
    assert options.headers[0].headers == (("Accept-Language", "de"),)
