"""Stage `features`: compute the features that frozen trials or an audit need. A study that needs none passes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dml.pipeline.folders import STORE, data_root, write_json
from dml.sweep.inputs.vectors import extract_all

if TYPE_CHECKING:
    from dml.config import Study


def run(study: Study) -> None:
    root = data_root(study)
    written = {
        dataset: {name: {"folder": os.path.relpath(folder, root)} for name, folder in folders.items()}
        for dataset, folders in extract_all(study, root, STORE / "features").items()
    }
    write_json(root / "features.json", written)
