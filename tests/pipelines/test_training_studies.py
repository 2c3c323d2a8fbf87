"""Each study of the repository trains: two steps of each loss with each way of choosing tuples, on a stand-in."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml import noise
from dml.config import Study, load_study
from dml.data import sources, splits
from dml.data.packing import pack
from dml.sweep.plan import specs
from dml.training import data as trial_data
from dml.training.loop import Training
from dml.types import BatchSpec, Cell, TrialSpec

FOLDER = Path(__file__).parents[2] / "pipelines" / "studies"
STUDIES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
LARGE = ("torchvision", "timm", "inception_bn", "mobilenet_v1", "efficientnet_lite0")


@cache
def study_of(name: str) -> Study:
    return load_study(FOLDER / f"{name}.yaml")


TRAINED: set[str] = set()  # what trained in one of the studies


def new(cells: Iterator[tuple[int, TrialSpec]]) -> Iterator[tuple[int, TrialSpec]]:
    """The first trial of a study, and those whose loss, tuples and filter, or noise, have not trained in another one.

    Losses that differ in numbers are one: that these are in range is checked when the trial is built.
    """
    for number, spec in cells:
        choices = sorted((name, value) for name, value in spec.loss.settings.items() if not isinstance(value, float))
        parts = {repr((spec.loss.name, choices, spec.miner, spec.filter)), spec.noise.model}
        if number == 0 or not parts <= TRAINED:
            yield number, spec
        TRAINED.update(parts)


def different(study: Study) -> Iterator[Cell]:
    """One cell for each loss with each way of choosing tuples, with the last values of what varies."""
    found = {}
    for cell in study.cells():
        synthesis = cell.loss.settings.get("synthesis")
        found[cell.loss.name, synthesis, cell.positives, cell.negatives, cell.noise] = cell
    yield from found.values()


@pytest.fixture(scope="module")
def roots(tmp_path_factory) -> dict[str, Path]:
    """The outputs of the data stages for 240 random images of two levels, by the level that is trained on."""
    base = tmp_path_factory.mktemp("stand-in")
    rng = np.random.default_rng(0)
    rows = []
    for number in range(240):
        fine, image = divmod(number, 10)
        role = "test" if fine >= 12 else "seen" if image >= 8 else "train"
        path = f"{number}.png"
        Image.fromarray(rng.integers(0, 60, (12, 12, 3), np.uint8) + np.uint8(8 * fine)).save(base / path)
        rows.append({"path": path, "fine": f"f{fine:02d}", "coarse": f"c{fine // 3}", "split": role})
    pd.DataFrame(rows).to_csv(base / "table.csv", index=False)
    source = sources.build("imagefolder", root=str(base), table=str(base / "table.csv"), disjoint="coarse")
    manifest = pack(source, base / "raw", base / "packed", report=lambda line: None)
    studies = [study_of(name) for name in STUDIES]
    models = [(n, rate) for study in studies for n in study.noise for rate in n.rates]
    as_given = {(n.label, rate) for n, rate in models if n.name in ("given", "label_file")}  # by people, or from files
    unique = {(n.name, rate): dict(n.settings) for n, rate in models if n.name not in ("given", "label_file")}
    drawn = [(*model, settings) for model, settings in unique.items()]
    found = {}
    for level in ("fine", "coarse"):
        root = base / level
        root.mkdir()
        (root / "pack.json").write_text(json.dumps({"any": {**manifest, "folder": str(base / "packed")}}))
        packed = trial_data.open_packed_of(root, "any")
        splits.save(splits.make(packed.index, source), root / "split" / "any.parquet")
        tables = []
        for phase in ("tune", "confirm"):
            images = trial_data.training_rows(root, "any", phase)
            labels = packed.index[level].to_numpy()[images]
            tables.append(noise.table(images, labels, drawn, [0], phase, images=packed.images))
            for label, rate in sorted(as_given):
                tables.append(noise.table(images, labels, [("uniform", rate, {})], [0], phase).assign(noise=label))
        (root / "noise").mkdir()
        pd.concat(tables).to_parquet(root / "noise" / "any.parquet", index=False)
        found[level] = root
    return found


def small(study: Study, cell: Cell) -> TrialSpec:
    """A trial of the cell with two steps, small batches, a small network from scratch, and no augmentation."""
    spec = specs.build(study, cell, "confirm", 0, {}, {"packed": "", "split": "", "labels": ""}, lambda *asked: None)
    spec = specs.with_rate(spec, lambda _: cell.rate)
    training = replace(spec.training, frozen=False, train_from=None, views=1, augment_settings={}, warmup_steps=0)
    if training.backbone in LARGE:
        size = min(training.embedding_size, 16)  # as many as features
        training = replace(training, backbone="small_conv", backbone_settings={"width": 4}, embedding_size=size)
    steps, batch = min(training.steps, 2), BatchSpec(training.batch.sampler, 2, 4)
    training = replace(training, steps=steps, batch=batch, augment="none", device="cpu", channels_last=False)
    evaluation = replace(spec.evaluation, every=1 if spec.evaluation.every else None)
    return replace(spec, dataset=replace(spec.dataset, name="any"), training=training, evaluation=evaluation)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*each is its own cluster")
@pytest.mark.parametrize("name", STUDIES)
def test_its_cells_train_two_steps_on_a_stand_in(name, roots, tmp_path, monkeypatch):
    monkeypatch.setattr(specs.models, "with_files", lambda _, settings: dict(settings))  # they may name absent weights
    study = study_of(name)
    for number, spec in new((number, small(study, cell)) for number, cell in enumerate(different(study))):
        trainer = Training(spec, roots[spec.dataset.train_on], tmp_path / str(number), "cpu")
        try:
            while not trainer.finished:
                trainer.advance()
            scores = trainer.result().scores
        finally:
            trainer.close()
        sets, levels = spec.evaluation.sets, spec.dataset.evaluate_on
        expected = {f"{s}/{level}/{metric}" for s in sets for level in levels for metric in spec.evaluation.metrics}
        assert expected <= set(scores), spec.loss
        assert all(np.isfinite(scores[key]) for key in expected), spec.loss
