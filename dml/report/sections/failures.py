"""The failed trials with their tracebacks."""

from __future__ import annotations

from collections.abc import Iterator

from dml.report.page.blocks import Block, FailedTrial
from dml.report.results import Results


class Failures:
    """One folded traceback per failed trial."""

    anchor, title = "failures", "Failed trials"

    def applies(self, results: Results) -> bool:
        """At least one trial failed."""
        return not results.failures.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        for row in results.failures.to_dict("records"):
            which = f"trial {row['number']:g}" if row["phase"] == "tune" else f"seed {row['seed']:g}"
            yield FailedTrial(row["cell"], f"{row['phase']}, {which}", row["headline"], row["error"])
