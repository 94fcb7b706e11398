"""The admin pages of a supervisor: those of its fronts, joined.

``/metrics`` has the samples of all fronts, each with the label ``front``. ``/readyz`` succeeds when at least one front
runs and every running one is ready, because the kernel sends connections to each of them. ``/livez`` fails when a
running front is not live; a front that has ended is replaced by the supervisor and no reason to restart the whole.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from evalward.server.observe.admin_listener import PLAIN_TEXT, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evalward.server.fronts.front_process import FrontProcess

LABEL: Final = "front"
_NONE: Final = "none runs"
_NO_ANSWER: Final = "no answer"
_NOT_RUNNING: Final = "not running; it is started again"


def joined_pages(fronts: Sequence[FrontProcess]) -> Mapping[str, Callable[[str], Page]]:
    """Return the pages by their paths; each is a function of the ``Accept`` header."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Joined(fronts))
    return {
        "/livez": lambda _accept: _live(fronts),
        "/readyz": lambda _accept: _ready(fronts),
        "/metrics": lambda accept: _metrics(registry, accept),
    }


def _live(fronts: Sequence[FrontProcess]) -> Page:
    said = {front.role.number: _state(front, "/livez") for front in fronts}
    is_live = all(page is None or page.status is HTTPStatus.OK for page in said.values())
    lines = [
        f"front {number}: {_NOT_RUNNING if page is None else page.body.decode().strip()}\n"
        for number, page in said.items()
    ]
    status = HTTPStatus.OK if is_live else HTTPStatus.SERVICE_UNAVAILABLE
    return Page(status, PLAIN_TEXT, "".join(lines).encode())


def _ready(fronts: Sequence[FrontProcess]) -> Page:
    said = {front.role.number: _state(front, "/readyz") for front in fronts}
    pages = [page for page in said.values() if page is not None]
    is_ready = bool(pages) and all(page.status is HTTPStatus.OK for page in pages)
    report = {
        "ready": is_ready,
        "fronts": {
            str(number): _NOT_RUNNING if page is None else _as_json(page) for number, page in said.items()
        },
        **({} if pages else {"failed": _NONE}),
    }
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return Page(status, "application/json", json.dumps(report).encode() + b"\n")


def _metrics(registry: CollectorRegistry, accept: str) -> Page:
    encode, content_type = choose_encoder(accept)
    return Page(HTTPStatus.OK, content_type, encode(registry))


def _state(front: FrontProcess, path: str) -> Page | None:
    """Return the front's page, None when it does not run; a front that runs and gives none has failed."""
    page = front.page(path)
    if page is not None:
        return page
    return Page(HTTPStatus.SERVICE_UNAVAILABLE, PLAIN_TEXT, _NO_ANSWER.encode()) if front.runs else None


def _as_json(page: Page) -> object:
    try:
        return json.loads(page.body)
    except ValueError:
        return page.body.decode(errors="replace")


class _Joined(Collector):
    """Collects the metrics of the fronts that answer."""

    def __init__(self, fronts: Sequence[FrontProcess]) -> None:
        self._fronts = fronts

    def collect(self) -> Iterator[Metric]:
        """Yield each family once, with the samples of all fronts."""
        families: dict[str, Metric] = {}
        for front in self._fronts:
            page = front.page("/metrics")
            if page is None or page.status is not HTTPStatus.OK:
                continue
            number = str(front.role.number)
            for family in text_string_to_metric_families(page.body.decode()):
                known = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                for sample in family.samples:
                    known.add_sample(sample.name, {**sample.labels, LABEL: number}, sample.value)
        yield from families.values()
