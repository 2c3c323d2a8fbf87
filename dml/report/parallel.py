"""The pages of many studies, made in processes beside this one: nearly all of a report's time is drawing figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from threadpoolctl import threadpool_limits

from dml.report.assembly import study_page
from dml.report.figures import style
from dml.report.page.pages import Page
from dml.report.results import Results

AT_ONCE = 8  # processes at most: each takes 0.8 GB
MANY = 6  # studies; for fewer, starting processes (3 s) takes longer than it saves


@contextmanager
def study_pages(studies: Sequence[Results], root: Path) -> Iterator[list[Callable[[], Page]]]:
    """For each study, a call that returns its page, with the page's files saved below `root`.

    They are made while the caller does something else, by as many processes as there are processors, if there are many
    studies. An error in a page is raised by its call.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(studies) < MANY or processors == 1:
        yield [partial(_page, results, root) for results in studies]
        return
    # Started afresh: a fork would copy the threads' locks of the numeric libraries.
    with ProcessPoolExecutor(min(processors, len(studies), AT_ONCE), get_context("spawn")) as pool:
        longest = sorted(studies, key=lambda results: -len(results.cells))
        waiting = {results.study.name: pool.submit(_page, results, root) for results in longest}
        try:
            yield [waiting[results.study.name].result for results in studies]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # those that nobody has begun; the others end first
            raise


def _page(results: Results, root: Path) -> Page:
    with prepared():
        return study_page(results, root)


@contextmanager
def prepared() -> Iterator[None]:
    """Figures have the report's style, and arrays, which are small, one thread: others would mostly wait for it."""
    with style.applied(), threadpool_limits(1):
        yield
