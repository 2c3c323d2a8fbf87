"""Start a stage: the command line, the folder, and one clear message for each error that a user can fix."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dml.files import explain, listed, study_files
from dml.own_files import check
from dml.pipeline.folders import PARAMS, REPORT, STUDIES

# `dml.config` takes seconds to import: only `_run` does.

STAGES = ("resolve", "download", "pack", "split", "corrupt", "features", "audit", "sweep", "report")  # after `versions`
OTHERS = ("versions", "why", "publish", "sync")
DATA = ("download", "pack", "split", "corrupt")  # need no losses and networks of a study, which `resolve` checked
REPEAT = "`dvc repro` again"


def start(stage: str, root: Path, arguments: Sequence[str]) -> None:
    """Run a stage: a module of `dml.pipeline` with `run`, whose `TAKES` is a study, `studies` or `nothing`.

    A module may define `skipped`, which handles a study that does not need the stage, without a heavy import.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt during imports has no traceback
    os.environ["PYTHONSAFEPATH"] = "1"  # in what this process starts: else a project's `random.py` hides Python's
    os.chdir(root)
    if not STUDIES.is_dir():
        sys.exit(f"error: {Path.cwd()} is not a project: expected a folder with {STUDIES}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    module = importlib.import_module(f"dml.pipeline.{stage}")
    takes = getattr(module, "TAKES", "study")
    parser = argparse.ArgumentParser(prog=f"python -m dml.pipeline {stage}", description=module.__doc__)
    if takes == "study":
        choices = ", ".join(path.stem for path in study_files(STUDIES))
        parser.add_argument("study", help=f"a file in {STUDIES}, without .yaml: {choices}")
    given = parser.parse_args(arguments)
    if stage not in OTHERS[1:]:
        _check_outputs(stage, getattr(given, "study", ""))
    if takes == "nothing":
        module.run()
    elif takes == "studies":
        _run(module, chosen(), several=True)
    elif not (hasattr(module, "skipped") and module.skipped(given.study)):
        _run(module, [given.study], several=False, parts=stage not in DATA)


def _check_outputs(stage: str, study: str) -> None:
    """End the process while a person's files are where a stage writes; the first stage looks for all of them."""
    try:
        studies = [study] if study else listed(PARAMS) if stage == OTHERS[0] else []
        check(Path(), studies, [] if study else [str(REPORT)])
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def _run(module: Any, names: Sequence[str], several: bool, parts: bool = True) -> None:
    from dml.config import load_study

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        studies = [load_study(STUDIES / f"{name}.yaml", parts) for name in names]
        module.run(studies if several else studies[0])
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Finished work is saved: `dml run` and `dvc repro` resume.")
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"error: {explain(error, REPEAT)}")


def chosen() -> list[str]:
    """The studies that params.yaml lists, without those that have no file, which are named on stderr."""
    existing = []
    try:
        for name in listed(PARAMS):
            if (STUDIES / f"{name}.yaml").is_file():
                existing.append(name)
            else:
                print(f"{PARAMS} names {name!r}, which has no file: left out; remove it there", file=sys.stderr)
    except ValueError as error:
        sys.exit(f"error: {error}")
    return existing
