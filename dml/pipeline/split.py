"""Stage `split`: decide which images train, validate and test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dml.data import sources, splits
from dml.data.packing import of_vectors
from dml.own_files import tidy
from dml.pipeline.folders import data_root
from dml.training.data import check_labels, open_packed_of

if TYPE_CHECKING:
    from dml.config import Study


def run(study: Study) -> None:
    folder, written = data_root(study) / "split", []
    for dataset in study.datasets:
        source = sources.build(dataset.name, **dataset.settings)
        packed = open_packed_of(data_root(study), dataset.label)
        if study.splits == 1:
            class_splits = [splits.by_seed(packed.index, source)]
        else:
            several = splits.make_several(packed.index, source, study.splits, study.folds)
            class_splits = [{None: table} for table in several]
        for number, tables in enumerate(class_splits):
            for table in tables.values():
                check_labels(study, dataset, packed.index, table)
            name = splits.data_name(dataset.label, number)
            print(f"{name}: {splits.summary(table, packed.index[source.disjoint].to_numpy())}")
            noun = "vector" if of_vectors(packed.manifest) else "image"
            if text := splits.crossing(packed.manifest.get("copies", ()), table, packed.index["fine"].to_numpy(), noun):
                print(f"{name}: {text}")
            written += splits.save_all(tables, folder, name)
    tidy(folder, written)
