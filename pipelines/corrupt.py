"""Stage `corrupt`: corrupt the labels of the training images. Test labels never change."""

import pandas as pd
from _stage import data_root, run

from dml import noise
from dml.config import Study
from dml.data.packing import of_vectors
from dml.files import replacing
from dml.training.data import open_packed_of, seeds_by_split, training_rows


def corrupt(study: Study) -> None:
    models = [(spec.model, rate, spec.settings) for spec in study.noise for rate in spec.rates]
    tuning = [study.search.seed]
    if study.search.protocol == "train_val_test":  # then the confirmed models are trained on the images of tuning
        tuning += [seed for seed in study.seeds if seed not in tuning]
    for dataset in study.datasets:
        packed = open_packed_of(data_root(study), dataset.label)
        tables = []
        for phase, seeds in (("tune", tuning), ("confirm", study.seeds)):
            for group in seeds_by_split(data_root(study), dataset.label, seeds):
                rows = training_rows(data_root(study), dataset.label, phase, group[0])
                labels = packed.index[dataset.train_on].to_numpy()[rows]
                if of_vectors(packed.manifest):
                    described = {"features": packed.images[rows][:, 0, 0]}
                else:
                    described = {"images": packed.images}
                tables.append(noise.table(rows, labels, models, group, phase, **described))
        path = data_root(study) / "noise" / f"{dataset.label}.parquet"
        with replacing(path) as temporary:
            pd.concat(tables, ignore_index=True).to_parquet(temporary, index=False)


if __name__ == "__main__":
    run(corrupt)
