"""Stage `report`: one static site over the chosen studies and the published results of others."""

import dml.pipeline.early  # noqa: F401

# isort: split
import gc
import sys

from dml.config import Study, load_study
from dml.pipeline.folders import PUBLISHED, REPORT, RESULTS, STORE, STUDIES
from dml.report.site import build
from dml.snapshots import snapshots
from dml.tracking.pages import log_page

SEVERAL = True  # it takes all chosen studies
OFTEN = 10  # pages, after which progress is shown


def run(studies: list[Study]) -> None:
    gc.freeze()  # all that was imported stays: to look for garbage in it takes a tenth of the time of drawing
    gc.set_threshold(100_000)  # figures consist of very many small objects
    chosen = {study.name for study in studies}
    others = [snapshot.path.name for snapshot in snapshots(PUBLISHED) if snapshot.path.name not in chosen]
    pages = [*studies, *(load_study(STUDIES / f"{name}.yaml") for name in others)]
    print(f"report: {len(pages)} study page{'s' * (len(pages) != 1)} ...", flush=True)

    def progress(drawn: int) -> None:
        if drawn % OFTEN == 0:
            print(f"report: {drawn} of {len(pages)} ...", flush=True)

    print(f"report: {build(pages, RESULTS, STORE, REPORT, PUBLISHED, known=STUDIES, progress=progress)}")
    for name in sorted(chosen):
        problem = log_page(name, REPORT / "studies" / f"{name}.html")
        if problem:
            print(f"report: the page of {name} is not in MLflow (`make report` retries): {problem}", file=sys.stderr)
            return
