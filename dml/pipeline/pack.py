"""Stage `pack`: decode and resize each image once, into one array that every process maps."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dml.data import sources
from dml.data.packing import pack, packed_id
from dml.pipeline.folders import STORE, data_root, raw_folder, write_json

if TYPE_CHECKING:
    from dml.config import Study


def run(study: Study) -> None:
    packed = {}
    for dataset in study.datasets:
        source = sources.build(dataset.name, **dataset.settings)
        folder = STORE / "packed" / packed_id(source, **dataset.packing)
        manifest = pack(source, raw_folder(dataset), folder, **dataset.packing)
        left_out = sources.left_out(source)
        if left_out:
            print(f"{dataset.label}: {left_out}")
            manifest = {**manifest, "left_out": left_out}
        packed[dataset.label] = {**manifest, "folder": os.path.relpath(folder, data_root(study))}
    write_json(data_root(study) / "pack.json", packed)
