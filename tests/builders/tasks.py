"""Tasks of the queues between the roles."""

from dataclasses import replace
from typing import Any

from feedmill.ports import IndexTask, Lane, Stage


def make_index_task(document_id: int, **given: Any) -> IndexTask:
    plain = IndexTask(document_id=document_id, version=1, stage=Stage.INDEX, lane=Lane.BULK, feed_id=1, datasource="src")
    return replace(plain, **given)
