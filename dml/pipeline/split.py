"""Stage `split`: decide which images train, validate and test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dml.data import sources, splits
from dml.pipeline.folders import data_root
from dml.training.data import check_sets, open_packed_of

if TYPE_CHECKING:
    from dml.config import Study


def run(study: Study) -> None:
    for dataset in study.datasets:
        source = sources.build(dataset.source, **dataset.options)
        packed = open_packed_of(data_root(study), dataset.label)
        found = splits.by_seed(packed.index, source)
        for table in found.values():
            used = packed.index[(table["final"] != "unused").to_numpy()]
            for level in (dataset.train_on, *dataset.evaluate_on):
                lacking = not {"given_fine", "verified"} & set(used) if level == "given" else (used[level] < 0).any()
                if lacking:
                    raise ValueError(
                        f"dataset {dataset.label!r}: the study names {level!r} labels, which its images lack"
                    )
            if "verified" in used and dataset.evaluate_on != ["given"]:
                raise ValueError(
                    f"dataset {dataset.label!r}: its labels are only as given, none is verified: expected "
                    "`evaluate_on: [given]`, so that scores are marked as measured against given labels"
                )
            check_sets(table, study.evaluation.sets, dataset.label)
        print(f"{dataset.label}: {splits.summary(table, packed.index[source.disjoint].to_numpy())}")
        splits.save_all(found, data_root(study) / "split", dataset.label)
