"""Stage `sync`: bring MLflow up to date with a study's results here, or with what its sweep has reached so far.

`python -m dml.pipeline.sync PLACE SECONDS` does so while a sweep runs (`dml.pipeline.syncing`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dml.files import Locked, locked, read_json
from dml.pipeline.syncing import Place

if TYPE_CHECKING:
    from dml.config import Study
    from dml.tracking import Model, Picture

PATIENCE_SECONDS = 30.0  # for a server that does not answer, after a sweep
STALE_SECONDS = 60.0  # after which a sweep whose status is not renewed was killed
TRIALS = "trials.parquet"
SHARE = 0.1  # of the time that syncs may take while a sweep runs


def run(study: Study) -> None:
    place = Place.of(study.name)
    if not picture_of(place, study).runs:
        raise ValueError(f"{study.name}: nothing has run here yet: dml run {study.name}")
    if problem := sync_study(place, study):
        sys.exit(f"error: {problem}")
    print(f"{study.name}: MLflow is up to date")


def sync_study(place: Place, study: Study, patience: float = 0.0) -> str:
    """Bring MLflow up to date with a study. Returns why it is not; empty if it is."""
    from dml.tracking.sync import sync

    try:
        with locked(Path(place.store, "sweeps", f"{study.name}.mlflow"), wait=patience > 0):
            return sync(picture_of(place, study), place.uri, patience)
    except Locked as error:
        return f"process {error.holder or '?'} syncs {study.name} already"


def picture_of(place: Place, study: Study) -> Picture:
    """What MLflow should show: the table of a sweep that runs or was interrupted, or results that are newer."""
    from dml.report.loading import load
    from dml.report.runs import audits, champions, picture
    from dml.tracking import Picture

    store, data = Path(place.store), Path(place.data)
    live = _live(place, study)
    is_live = _written(live) > _written(Path(place.results, TRIALS))
    results = load(study, live.parent if is_live else Path(place.results), store)
    winners, audited = champions(store, study.name), audits(Path(place.audit), study.name)
    if results.trials.empty and not is_live:
        return Picture(study.name, [*winners, *audited])
    shown = picture(results, _state(store, study.name) if is_live else "finished")
    first, *others = shown.runs
    packed = {f"dml.data.{n}": entry["digest"] for n, entry in (read_json(data / "pack.json") or {}).items()}
    first = replace(first, tags={**first.tags, **packed})
    if not is_live:
        listed = [Path(place.results, TRIALS), Path(place.results, "summary.json"), data / "study.yaml"]
        files = {path.name: path for path in listed} | {f"report/{study.name}.html": Path(place.page)}
        first = replace(first, files=files, model=_model(store, str(results.summary.get("model", ""))))
    below = [replace(run, parent=first) for run in winners]
    return Picture(study.name, [first, *others, *below, *audited])


def _live(place: Place, study: Study) -> Path:
    """The table that `dml.sweep.progress.results` writes; the stage `report` does not import the code of the sweep."""
    return Path(place.store, "sweeps", f"{study.name}.live", TRIALS)


def _written(path: Path) -> float:
    """When a file was written. DVC takes back the results of a study that is again as it was, without a sweep."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _state(store: Path, study: str) -> str:
    status = read_json(store / "sweeps" / f"{study}.json") or {}
    state = str(status.get("state", "interrupted"))
    if state not in ("starting", "running"):
        return state
    return "running" if time.time() - status["updated"] < STALE_SECONDS else "interrupted"


def _model(store: Path, key: str) -> Model | None:
    from dml.tracking import Model

    folder = store / "trials" / key / "model"
    described: dict[str, Any] | None = read_json(folder / "model.json") if key else None
    if described is None:
        return None
    return Model(folder.resolve(), key, described["image_shape"], described["network"]["embedding_size"])


def keep_in_sync(place: Place, seconds: float) -> int:
    """Sync until the standard input ends, and then once more. Returns the exit code: 0 if MLflow is up to date."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the sweep, whose end this process awaits
    ended = threading.Event()

    def await_end() -> None:
        sys.stdin.buffer.read()
        ended.set()

    threading.Thread(target=await_end, daemon=True).start()

    from dml.config import load_study

    study, warning, shown = load_study(place.study), "", None
    live = _live(place, study)
    while not ended.is_set():
        begun, version = time.monotonic(), live.stat().st_mtime_ns if live.is_file() else None
        if version is not None and version != shown:
            problem = sync_study(place, study)
            shown = None if problem else version
            if problem and not warning:
                print(f"{problem}\nThe sweep goes on; MLflow is brought up to date later.", file=sys.stderr, flush=True)
            warning = problem
        ended.wait(max(seconds if version else 1.0, (time.monotonic() - begun) / SHARE))
    problem = sync_study(place, study, float(os.environ.get("DML_TRACKING_PATIENCE", PATIENCE_SECONDS)))
    if problem:
        later = f"MLflow lacks results of {study.name}: `dml sync {study.name}` brings it up to date."
        print(f"{problem}\n{later}", file=sys.stderr)
    return int(bool(problem))


if __name__ == "__main__":
    sys.path.append(os.getcwd())  # studies name parts of the project's own
    sys.exit(keep_in_sync(Place(**json.loads(sys.argv[1])), float(sys.argv[2])))
