"""Where stages read and write, relative to the project's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dml.files import write_text

if TYPE_CHECKING:
    from dml.config import DatasetSection, Study

PARAMS = Path("params.yaml")
STUDIES = Path("pipelines/studies")
STORE = Path("store")
RESULTS = Path("results")
REPORT = Path("report")
AUDIT = Path("audit")
AUDITS = Path("pipelines/audits")
SNAPSHOTS = Path("docs/results")
VERSIONS = Path("data/.versions")


def data_root(study: Study) -> Path:
    """The folder with the outputs of a study's data stages."""
    return Path("data") / study.name


def raw_folder(dataset: DatasetSection) -> Path:
    """The folder of a dataset's raw files."""
    return STORE / "raw" / dataset.raw


def write_json(path: Path, content: Any) -> None:
    """Write JSON with sorted keys, so that equal content gives equal bytes and DVC sees no change."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")
