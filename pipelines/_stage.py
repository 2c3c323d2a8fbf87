"""What the stages share: their command line, their folders, and one clear message for what a user can put right."""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from dml.config import Study, load_study
from dml.config.data import DatasetSection

PARAMS = Path("params.yaml")
STUDIES = Path("pipelines/studies")
STORE = Path("store")
RESULTS = Path("results")
REPORT = Path("report")


def data_root(study: Study) -> Path:
    """The folder of a study's data stages."""
    return Path("data") / study.name


def raw_folder(dataset: DatasetSection) -> Path:
    """Where a dataset's raw files lie: shared by all studies that use the same source with the same options."""
    name = dataset.source.rsplit(".", 1)[-1]
    if dataset.options:
        name += "-" + hashlib.sha256(json.dumps(dataset.options, sort_keys=True).encode()).hexdigest()[:8]
    return STORE / "raw" / name


def write_json(path: Path, content: Any) -> None:
    """Write JSON the same way every time, so that DVC sees a change only where there is one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def chosen() -> list[str]:
    """The studies that params.yaml names."""
    return yaml.safe_load(PARAMS.read_text(encoding="utf-8"))["studies"]


def run(stage: Callable[..., Any], *, several: bool = False) -> None:
    """Run a stage's function from the project's root, on the study named on the command line, or on all chosen ones."""
    os.chdir(Path(__file__).parents[1])
    parser = argparse.ArgumentParser(description=sys.modules[stage.__module__].__doc__)
    if not several:
        there = ", ".join(sorted(path.stem for path in STUDIES.glob("*.yaml")))
        parser.add_argument("study", help=f"a file in {STUDIES}, without .yaml: {there}")
    arguments = parser.parse_args()
    try:
        studies = [load_study(STUDIES / f"{name}.yaml") for name in (chosen() if several else [arguments.study])]
        stage(studies if several else studies[0])
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Nothing that was computed is lost: `dvc repro` goes on from here.")
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"error: {explain(error)}")


def explain(error: Exception) -> str:
    """One message that says what to do."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" while writing {error.filename}" if error.filename else ""
        return f"the disk is full{where}. Free some space and run `dvc repro` again: it goes on where it was."
    return str(error) or type(error).__name__
