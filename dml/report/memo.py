"""Analyses that several sections of a page ask for are made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from dml.report.results import Results

Found = TypeVar("Found")


def once(analysis: Callable[[Results], Found]) -> Callable[[Results], Found]:
    """The analysis, made at its first call for each record of results, which keeps it. Nobody may change it."""
    name = f"{analysis.__module__}.{analysis.__qualname__}"

    @wraps(analysis)
    def found(results: Results) -> Found:
        if name not in results.analyses:
            results.analyses[name] = analysis(results)
        return results.analyses[name]

    return found
