"""Stage `download`: fetch and verify the raw files of a study's datasets."""

import sys

from _stage import STORE, data_root, run, write_json

from dml import discovery
from dml.config import Study
from dml.data.download import fetch


def download(study: Study) -> None:
    fetched = {}
    for dataset in study.datasets:
        source = discovery.build("dml.data.sources", dataset.source, **dataset.options)
        fetched[dataset.label] = fetch(source, STORE / "raw" / dataset.label)
    write_json(data_root(study) / "download.json", fetched)


if __name__ == "__main__":
    sys.exit(run(download))
