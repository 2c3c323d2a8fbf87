"""Stage `split`: decide which images train, validate and test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from dml.data import sources, splits
from dml.data.packing import of_vectors
from dml.own_files import tidy
from dml.pipeline.folders import data_root
from dml.training.data import check_sets, open_packed_of

if TYPE_CHECKING:
    from dml.config import DatasetSection, Study


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
                _check(study, dataset, packed.index, table)
            name = splits.data_name(dataset.label, number)
            print(f"{name}: {splits.summary(table, packed.index[source.disjoint].to_numpy())}")
            noun = "vector" if of_vectors(packed.manifest) else "image"
            if text := splits.crossing(packed.manifest.get("copies", ()), table, packed.index["fine"].to_numpy(), noun):
                print(f"{name}: {text}")
            written += splits.save_all(tables, folder, name)
    tidy(folder, written)


def _check(study: Study, dataset: DatasetSection, index: pd.DataFrame, table: pd.DataFrame) -> None:
    """That the images have the labels and the sets that the study names."""
    used = index[(table["final"] != "unused").to_numpy()]
    for level in (dataset.train_on, *dataset.evaluate_on):
        lacking = not {"given_fine", "verified"} & set(used) if level == "given" else (used[level] < 0).any()
        if lacking:
            raise ValueError(f"dataset {dataset.label!r}: the study names {level!r} labels, which its images lack")
    if "verified" in used and dataset.evaluate_on != ["given"]:
        raise ValueError(
            f"dataset {dataset.label!r}: its labels are only as given, none is verified: expected "
            "`evaluate_on: [given]`, so that scores are marked as measured against given labels"
        )
    check_sets(table, study.evaluation.sets, dataset.label)
