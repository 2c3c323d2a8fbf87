"""Shared by all stages: the command line, the folders, and one clear message for each error that a user can fix."""

from __future__ import annotations

import _interrupts  # noqa: F401

# isort: split
import argparse
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from dml.config import DatasetSection, Study, load_study
from dml.files import explain, write_text

PARAMS = Path("params.yaml")
STUDIES = Path("pipelines/studies")
STORE = Path("store")
RESULTS = Path("results")
REPORT = Path("report")
AUDIT = Path("audit")
AUDITS = Path("pipelines/audits")
PUBLISHED = Path("docs/results")

REPEAT = "`dvc repro` again"


def data_root(study: Study) -> Path:
    """The folder with the outputs of a study's data stages."""
    return Path("data") / study.name


def raw_folder(dataset: DatasetSection) -> Path:
    """The folder of a dataset's raw files."""
    return STORE / "raw" / dataset.raw


def write_json(path: Path, content: Any) -> None:
    """Write JSON with sorted keys, so that equal content gives equal bytes and DVC sees no change."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")


def chosen() -> list[str]:
    """The studies that params.yaml lists, without those that have no file, which are named on stderr."""
    names = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))["studies"]
    found = [name for name in names if (STUDIES / f"{name}.yaml").is_file()]
    for name in names:
        if name not in found:
            print(f"{PARAMS} names {name!r}, which has no file: left out; remove it there", file=sys.stderr)
    return found


def run(stage: Callable[..., Any], *, several: bool = False) -> None:
    """Run a stage from the project's root. Errors that a user can fix end the process with a message.

    Parameters
    ----------
    stage : called with the study that the command line names; with `several`, with all chosen studies.
    several : whether the stage takes all chosen studies.
    """
    os.chdir(Path(__file__).parents[1])
    parser = argparse.ArgumentParser(description=sys.modules[stage.__module__].__doc__)
    if not several:
        choices = ", ".join(sorted(path.stem for path in STUDIES.glob("*.yaml")))
        parser.add_argument("study", help=f"a file in {STUDIES}, without .yaml: {choices}")
    arguments = parser.parse_args()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        studies = [load_study(STUDIES / f"{name}.yaml") for name in (chosen() if several else [arguments.study])]
        stage(studies if several else studies[0])
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Finished work is saved: `dml run` and `dvc repro` resume.")
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"error: {explain(error, REPEAT)}")
