"""Stage `corrupt`: corrupt the labels of the training images. Test labels never change."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dml import noise
from dml.data import splits
from dml.data.packing import of_vectors
from dml.files import replacing
from dml.own_files import tidy
from dml.pipeline.folders import data_root
from dml.training.data import given_of, open_packed_of, seeds_by_split, split_of, training_rows
from dml.types import TUNING_SEED, VALIDATION

if TYPE_CHECKING:
    from dml.config import DatasetSection, Study

TOLERANCE = 0.005  # of the rate of labels as given, which is written with two or three digits


def run(study: Study) -> None:
    folder, written = data_root(study) / "noise", []
    for dataset in study.datasets:
        shares: dict[str, list[float]] = {model.label: [] for model in study.noise if model.by_given}
        for number in range(study.splits):
            name = splits.data_name(dataset.label, number)
            labels = pd.concat(tables(study, dataset, name), ignore_index=True)
            written.append(folder / f"{name}.parquet")
            with replacing(written[-1]) as temporary:
                labels.to_parquet(temporary, index=False)
            for given, rates in shares.items():
                counted = (labels["noise"] == given) & (labels["phase"] == "confirm") & (labels["observed"] >= 0)
                rates.append(float(labels.loc[counted, "flipped"].mean()))
        _check_rates(study, dataset, shares)
    tidy(folder, written)


def _check_rates(study: Study, dataset: DatasetSection, shares: Mapping[str, Sequence[float]]) -> None:
    """That the rate of labels as given is the share of wrong ones, or its mean over class splits."""
    for model in (model for model in study.noise if model.label in shares):
        measured = shares[model.label]
        mean = statistics.fmean(measured)
        several = f" (mean of {len(measured)} class splits: {', '.join(f'{share:.3f}' for share in measured)})"
        for rate in (rate for rate in model.rates if abs(mean - rate) > TOLERANCE):
            raise ValueError(
                f"dataset {dataset.label!r}: noise {model.label!r}: {mean:.4f} of the labels are wrong"
                f"{several * (len(measured) > 1)}, the rate says {rate:g}: expected `rates: [{mean:.3f}]`"
            )


def tables(study: Study, dataset: DatasetSection, name: str) -> Iterator[pd.DataFrame]:
    """The labels of one class split, of the data called `name`.

    Where observed labels choose, tuning divides the training images after their labels are corrupted.
    """
    root = data_root(study)
    tuning = [TUNING_SEED]
    if study.search.protocol == "train_val_test":  # then the confirmed models are trained on the images of tuning
        tuning += [seed for seed in study.seeds if seed not in tuning]
    packed = open_packed_of(root, name)
    for phase, seeds in (("tune", tuning), ("confirm", study.seeds)):
        for group in seeds_by_split(root, name, seeds):
            for by_given, divided in itertools.product((False, True), (False, True)):
                models = [
                    (n.label, rate, n.settings)
                    for n in study.noise
                    for rate in n.rates
                    if n.by_given == by_given
                    if (phase == "tune" and study.search.chooses_by_observed(n.name, rate)) == divided
                ]
                if not models:
                    continue
                rows = training_rows(root, name, "confirm" if divided else phase, group[0], by_given)
                labels = packed.index[dataset.train_on].to_numpy()[rows]
                context = {"paths": packed.index["path"].to_numpy()[rows]}
                context |= {"given": given_of(packed, dataset.train_on, rows)} if by_given else {}
                if of_vectors(packed.manifest):
                    context["features"] = packed.images[rows][:, 0, 0]
                else:
                    context["images"] = packed.images
                table = noise.table(rows, labels, models, group, phase, **context)
                yield noise.halves(table, *_halves(root, dataset, name, group[0], by_given)) if divided else table


def _halves(root: Path, dataset: DatasetSection, name: str, seed: int, by_given: bool) -> tuple[np.ndarray, np.ndarray]:
    """The half of each packed image and its class, as `noise.halves` takes them."""
    split, index = split_of(root, name, seed), open_packed_of(root, name).index
    if not by_given:
        return split["tune"].to_numpy(), index[dataset.train_on].to_numpy()
    fits, trains = (split[column].to_numpy() == "train" for column in ("tune_given", "final_given"))
    half = np.where(fits, "train", np.where(trains, VALIDATION, "unused"))
    return half, splits.given_labels(index, dataset.train_on)
