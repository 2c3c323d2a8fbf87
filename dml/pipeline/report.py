"""Stage `report`: one static site over the chosen studies, and over others with results here or published ones."""

import dml.pipeline.early  # noqa: F401

# isort: split
import gc
import sys

from dml.config import Study, load_study
from dml.counting import counted
from dml.pipeline.folders import PUBLISHED, REPORT, RESULTS, STORE, STUDIES
from dml.report.site import build
from dml.snapshots import snapshots
from dml.tracking.pages import log_page

TAKES = "studies"
OFTEN = 10  # pages, after which progress is shown


def run(studies: list[Study]) -> None:
    gc.freeze()  # all that was imported stays: to look for garbage in it takes a tenth of the time of drawing
    gc.set_threshold(100_000)  # figures consist of very many small objects
    shown = pages(studies)
    print(f"report: {counted(len(shown), 'study page')} ...", flush=True)

    def progress(drawn: int) -> None:
        if drawn % OFTEN == 0:
            print(f"report: {drawn} of {len(shown)} ...", flush=True)

    print(f"report: {build(shown, RESULTS, STORE, REPORT, PUBLISHED, known=STUDIES, progress=progress)}")
    for name in sorted(study.name for study in studies):
        problem = log_page(name, REPORT / "studies" / f"{name}.html")
        if problem:
            print(f"report: the page of {name} is not in MLflow (`dml report` retries): {problem}", file=sys.stderr)
            return


def pages(chosen: list[Study]) -> list[Study]:
    """The chosen studies, then the others that have results here or published ones, by name.

    Results here without a study that can be read are left out, which is said: nothing else may stop the report.
    """
    published = {snapshot.path.name for snapshot in snapshots(PUBLISHED)}
    here = {path.parent.name for path in RESULTS.glob("*/trials.parquet")}
    others = []
    for name in sorted((published | here) - {study.name for study in chosen}):
        try:
            others.append(load_study(STUDIES / f"{name}.yaml"))
        except (ValueError, OSError) as error:
            if name in published:
                raise
            print(f"report: {RESULTS / name}: left out: {error}", file=sys.stderr)
    return [*chosen, *others]
