"""Stage `pack`: decode and resize each image once, into one array that every process maps."""

import os
from typing import Any

from _stage import STORE, data_root, raw_folder, run, write_json

from dml.config import Study
from dml.data import sources
from dml.data.packing import pack, packed_id
from dml.data.shards import shard_packed, shards_id


def pack_all(study: Study) -> None:
    packed = {}
    for dataset in study.datasets:
        source = sources.build(dataset.source, **dataset.options)
        how: dict[str, Any] = {"resize": dataset.resize, "on_corrupt": dataset.on_corrupt, "decode": dataset.decode}
        folder = STORE / "packed" / packed_id(source, **how)
        manifest = pack(source, raw_folder(dataset), folder, **how)
        if dataset.shards is not None:
            given = dataset.shards.model_dump()
            manifest = shard_packed(folder, out := folder.with_name(shards_id(folder.name, **given)), **given)
            folder = out
        packed[dataset.label] = {**manifest, "folder": os.path.relpath(folder, data_root(study))}
    write_json(data_root(study) / "pack.json", packed)


if __name__ == "__main__":
    run(pack_all)
