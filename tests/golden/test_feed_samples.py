"""What becomes of feeds that real clients wrote, where such samples are available."""

import os
from pathlib import Path

import pytest

from feedmill.model.feed import FeedState
from feedmill.services.feeds.validation import validate
from feedmill.wire.registry import FORMATS
from tests.feedreaders import GIVEN

SAMPLES = Path(os.environ.get("FEEDMILL_SAMPLES", Path(__file__).parents[3] / "shared" / "samples"))
GOOD = FeedState.COMPLETED
FAILED = FeedState.FAILED_IN_ERROR

EXPECTED: dict[str, tuple[FeedState, int, int, str]] = {
    "feeds/coveo-full-feed.xml": (GOOD, 4, 0, ""),
    "feeds/coveo-readme-content.xml": (FAILED, 0, 0, "line 16"),
    "feeds/coveo-readme-metaurl.xml": (FAILED, 0, 0, "<meta> is not closed"),
    "feeds/g-gsafeed-full.xml": (GOOD, 4, 0, ""),
    "feeds/g-gsafeed-incremental.xml": (GOOD, 4, 0, ""),
    "feeds/g-gsafeed-metadata-and-url.xml": (GOOD, 1, 0, ""),
    "feeds/gsa-admin-toolkit-SimpleFeedContentGenerator.xml": (GOOD, 3, 0, ""),
    "feeds/gsa-admin-toolkit-cached-copy-base64compressed.xml": (GOOD, 1, 0, ""),
    "feeds/gsa-admin-toolkit-connector.py-base64-newlines.xml": (GOOD, 1, 0, ""),
    "feeds/gsa-admin-toolkit-gsa_feed.py-full.xml": (GOOD, 4, 0, ""),
    "feeds/gsa-admin-toolkit-gsa_feed.py-incremental.xml": (GOOD, 1, 0, ""),
    "feeds/gsa-admin-toolkit-gsa_feed.py-metadata-and-url-base64.xml": (FAILED, 0, 0, "<meta> is not closed"),
    "feeds/gsa-admin-toolkit-gsa_feed.py-metadata-and-url.xml": (GOOD, 1, 0, ""),
    "feeds/gsa-admin-toolkit-interactive-empty.xml": (GOOD, 0, 0, ""),
    "feeds/gsa-admin-toolkit-remove-urls.xml": (GOOD, 2, 0, "raw &"),
    "feeds/gsafeed-GsafeedHelperTest-L102.xml": (FAILED, 0, 0, "entity definitions"),
    "feeds/gsafeed-GsafeedHelperTest-L130.xml": (FAILED, 0, 0, "entity definitions"),
    "feeds/gsafeed-GsafeedHelperTest-L149.xml": (FAILED, 0, 0, "entity definitions"),
    "feeds/gsafeed-GsafeedHelperTest-L66.xml": (GOOD, 1, 0, ""),
    "feeds/gsafeed-GsafeedHelperTest-L83.xml": (GOOD, 1, 0, "invalid-element"),
    "feeds/gsafeed-RecordTest-L426.xml": (FAILED, 1, 1, "action"),
    "feeds/gsafeed-RecordTest-L503.xml": (GOOD, 1, 0, ""),
    "feeds/library-GsaFeedFileMakerTest-L103.xml": (GOOD, 5, 0, "fully qualified"),
    "feeds/library-GsaFeedFileMakerTest-L161.xml": (GOOD, 0, 0, ""),
    "feeds/library-GsaFeedFileMakerTest-L45.xml": (GOOD, 0, 0, ""),
    "groups/coveo-groups.xml": (GOOD, 2, 0, ""),
    "groups/g-gsafeed-groupsfeed.xml": (GOOD, 2, 0, ""),
    "groups/gsa-admin-toolkit-gsa_feed.py-groupsdb.xml": (GOOD, 2, 0, ""),
    "groups/library-GsaFeedFileMakerTest-L346.xml": (GOOD, 0, 0, ""),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_sample_ends_as_expected(name: str) -> None:
    path = SAMPLES / name
    if not path.exists():
        pytest.skip("no samples available; FEEDMILL_SAMPLES names their folder")
    state, records, errors, said = EXPECTED[name]
    verdict = validate(lambda: path.open("rb"), FORMATS, GIVEN)
    assert (verdict.state, verdict.records, verdict.errors) == (state, records, errors)
    reasons = "; ".join(entry.reason for entry in verdict.log)
    assert said in reasons
    if not said:
        assert reasons == ""
