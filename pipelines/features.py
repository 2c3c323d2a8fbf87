"""Stage `features`: compute the features that frozen trials or an audit need. A study that needs none passes."""

import os

from _stage import STORE, data_root, run, write_json

from dml.config import Study
from dml.sweep.extracting import extract_all


def features(study: Study) -> None:
    root = data_root(study)
    written = {
        dataset: {name: {"folder": os.path.relpath(folder, root)} for name, folder in found.items()}
        for dataset, found in extract_all(study, root, STORE / "features").items()
    }
    write_json(root / "features.json", written)


if __name__ == "__main__":
    run(features)
