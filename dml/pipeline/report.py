"""Stage `report`: one static site over the chosen studies, and over others with results here or a snapshot."""

import gc
import hashlib
import json
import sys
from functools import partial
from pathlib import Path

from dml.config import Study, load_study
from dml.config.loading import text_digest
from dml.counting import counted
from dml.papers import use_project
from dml.pipeline.folders import REPORT, RESULTS, SNAPSHOTS, STORE, STUDIES
from dml.pipeline.sync import sync_study
from dml.pipeline.syncing import Place, tracks
from dml.pipeline.versions import digests
from dml.report.site import Source, build
from dml.snapshots import snapshots
from dml.tracking.connection import default_uri, is_missing

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

    code = hashlib.sha256(json.dumps(digests("report"), sort_keys=True).encode()).hexdigest()
    page = build(shown, RESULTS, STORE, REPORT, SNAPSHOTS, studies_folder=STUDIES, progress=progress, code=code)
    print(f"report: {page}")
    for study in studies if tracks() and not is_missing(default_uri()) else ():
        if (RESULTS / study.name / "trials.parquet").is_file():
            problem = sync_study(Place.of(study.name), study)
            if problem:
                print(f"report: {study.name} is not up to date in MLflow (see `dml sync`): {problem}", file=sys.stderr)
                return


def pages(chosen: list[Study]) -> list[Study | Source]:
    """The chosen studies, then the others that have results here or a snapshot, by name.

    Those with a snapshot are read only where their pages are made again. A study that cannot be read is left out.
    """
    use_project(Path())
    with_snapshot = {snapshot.path.name for snapshot in snapshots(SNAPSHOTS)}
    here = {path.parent.name for path in RESULTS.glob("*/trials.parquet")}
    others: list[Study | Source] = []
    for name in sorted((with_snapshot | here) - {study.name for study in chosen}):
        file = STUDIES / f"{name}.yaml"
        if name in with_snapshot:
            others.append(Source(name, text_digest(file), partial(load_study, file)))
            continue
        try:
            others.append(load_study(file))
        except (ValueError, OSError) as error:
            print(f"report: {RESULTS / name}: left out: {error}", file=sys.stderr)
    return [*chosen, *others]
