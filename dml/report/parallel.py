"""The pages of many studies, made in processes beside this one: nearly all of a report's time is drawing figures."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from dml.files import sockets_fit
from dml.report.assembly import study_page
from dml.report.cache import made
from dml.report.figures import style
from dml.report.page.html import Renderer
from dml.report.page.pages import Page
from dml.report.results import Results
from dml.report.tuning import mark
from dml.report.verdicts import Verdict

AT_ONCE = 8  # processes at most: each takes 0.8 GB
MANY = 6  # studies; for fewer, starting processes (3 s) takes longer than it saves
LISTENER = 32  # bytes of `/pymp-abcdefgh/listener-abcdefgh`
START_METHOD = "forkserver" if sys.platform == "linux" and sockets_fit(tempfile.gettempdir(), LISTENER) else "spawn"
"""Not a fork of this process, which would copy the threads' locks of the numeric libraries. A server imports once."""


@contextmanager
def workers(studies: int) -> Iterator[Executor | None]:
    """Processes that draw the pages of so many studies, as many as there are processors; None if they would not pay.

    They import what they need while the caller reads results.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if studies < MANY or processors == 1:
        yield None
        return
    most = min(processors, studies, AT_ONCE)
    context: Any = get_context(START_METHOD)
    if START_METHOD == "forkserver":
        context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(most, context) as pool:
        for _ in range(most):
            pool.submit(_started)
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)  # those that nobody has begun; the others end first
            raise


@dataclass(frozen=True)
class Job:
    """A page to make, or to find where it is kept."""

    name: str
    folder: Path | None  # of `cache.made`
    digest: str
    results: Results | None  # None: the page is kept
    links: tuple[bool, bool] = (False, False)  # whether there are pages of claims and of theory
    here: bool = False


@dataclass(frozen=True)
class StudyPage:
    """What the index and the page of claims show of a study's page."""

    page: Page  # without its sections
    verdicts: Sequence[Verdict]
    tuning: str  # `tuning.mark`


def study_pages(pool: Executor | None, jobs: Sequence[Job], root: Path) -> list[Callable[[], StudyPage]]:
    """For each job, a call that returns its page, with the page and its files saved below `root`.

    Those of a pool are made while the caller does something else. An error in a page is raised by its call.
    """
    if pool is None:
        return [partial(_page, job, root) for job in jobs]
    longest = sorted(jobs, key=lambda job: -len(job.results.cells) if job.results else 0)
    waiting = {job.name: pool.submit(_page, job, root).result for job in longest if job.results}
    return [waiting.get(job.name, partial(_page, job, root)) for job in jobs]


def _started() -> None:
    """A worker that runs this has imported this file."""


def _page(job: Job, root: Path) -> StudyPage:
    return made(job.folder, job.digest, root, partial(_made, job))


def _made(job: Job, root: Path) -> StudyPage:
    results = job.results
    assert results is not None
    with prepared():
        page = replace(study_page(results, root), here=job.here)
    Renderer(root, *job.links).page(page)
    return StudyPage(replace(page, sections=[]), results.verdicts, mark(results.study))


@contextmanager
def prepared() -> Iterator[None]:
    """Figures have the report's style, and arrays, which are small, one thread: others would mostly wait for it."""
    with style.applied(), threadpool_limits(1):
        yield
