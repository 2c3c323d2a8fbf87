"""The weights that `training.init_from` names, among the models of earlier studies."""

import itertools
import json

import pandas as pd
import pytest

from dml.config import InitFromSection
from dml.sweep.plan import keys, specs
from dml.sweep.store.init_from import InitFromFinder
from dml.training.model_files import digest
from dml.types import InitFromSpec

DIGESTS = {"packed": "p", "split": "s", "labels": "l"}


def row(dataset, loss, margin, rate, phase, number, seed, objective=0.5, status="finished"):
    cell = f"{dataset}|uniform-{rate:g}|{loss}({margin})|all-pairs"
    return {
        "key": f"{dataset}-{loss}-{margin}-{rate:g}-{phase}-{seed}",
        "cell": cell,
        "phase": phase,
        "number": number,
        "seed": seed,
        "status": status,
        "dataset": dataset,
        "noise": "uniform",
        "rate": rate,
        "loss": loss,
        "positives": None,
        "negatives": None,
        "settings": json.dumps({"loss.margin": margin}),
        "objective": objective,
    }


@pytest.fixture
def starts(tmp_path):
    """An earlier study `first` of two datasets, two losses and two rates, and one of two variants, untuned."""
    rows = []
    for dataset, loss, rate in itertools.product(("birds", "cars"), ("triplet", "margin"), (0.0, 0.3)):
        score = {"triplet": 0.6, "margin": 0.7}[loss] - rate + (dataset == "birds") / 10
        rows.append(row(dataset, loss, 0.2, rate, "tune", 0, 0, score))
        rows += [row(dataset, loss, 0.2, rate, "confirm", n, seed, 1 - score) for n, seed in enumerate((5, 3))]
    variants = [row("birds", "triplet", margin, 0.0, "confirm", 0, 0) for margin in (0.1, 0.2)]
    variants.append(row("birds", "softmax", 0.1, 0.0, "confirm", 0, 0, status="failed"))
    for study, found in (("first", rows), ("variants", variants), ("failed", variants[-1:])):
        (tmp_path / "results" / study).mkdir(parents=True)
        pd.DataFrame(found).to_parquet(tmp_path / "results" / study / "trials.parquet")
        for trial in found:
            folder = tmp_path / "store/trials" / trial["key"] / "model"
            if trial["phase"] == "confirm":
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "model.safetensors").write_text(trial["key"])
    return InitFromFinder(tmp_path / "results", tmp_path / "store")


def found(starts, dataset="birds", seed=3, **section):
    """The key of the trial whose weights are found."""
    return starts(InitFromSection(**section), dataset, seed).path.split("/")[-3]


def test_a_cell_by_its_attributes_on_the_same_dataset_with_the_same_seed(starts):
    wanted = {"study": "first", "cell": {"loss": "triplet", "rate": 0}}
    assert found(starts, **wanted) == "birds-triplet-0.2-0-confirm-3"
    assert found(starts, dataset="cars", **wanted) == "cars-triplet-0.2-0-confirm-3"
    assert found(starts, seed=9, **wanted) == "birds-triplet-0.2-0-confirm-5", "the first trial"
    elsewhere = {**wanted, "cell": {**wanted["cell"], "dataset": "cars"}}
    assert found(starts, **elsewhere) == "cars-triplet-0.2-0-confirm-3"
    assert found(starts, study="variants", cell={"loss.margin": 0.1}) == "birds-triplet-0.1-0-confirm-0"
    assert found(starts, study="first", cell={"loss": ["triplet"], "rate": 0, "filter": "none"}).endswith("confirm-3")
    assert found(starts, "digits", study="variants", cell={"loss.margin": 0.2, "positives": None}).endswith("confirm-0")


def test_models_of_several_class_splits_are_refused(starts, tmp_path):
    trials = pd.read_parquet(tmp_path / "results/first/trials.parquet")
    trials.assign(split=trials["number"] % 2).to_parquet(tmp_path / "results/variants/trials.parquet")
    with pytest.raises(ValueError, match="class splits"):
        found(starts, study="variants", cell={"loss": "triplet", "rate": 0})


def test_a_key_contains_the_weights_and_not_their_place(toy_study):
    def key(start, head=None):
        section = {"steps": 10, "init_from": {"path": "somewhere.pt"}} if start else {"steps": 10}
        study = toy_study(training=section)
        find = lambda section, dataset, seed: InitFromSpec(*start, head)  # noqa: E731
        return keys.key(specs.build(study, study.cells()[0], "confirm", 0, {}, DIGESTS, find))

    assert key(("a", "here")) == key(("a", "there"))
    assert len({key(None), key(("a", "here")), key(("b", "here")), key(("a", "here"), "new")}) == 4
    study = toy_study()
    assert key(None) == keys.key(specs.build(study, study.cells()[0], "confirm", 0, {}, DIGESTS))


def test_a_key_contains_the_weights_of_a_backbone_and_not_their_place(toy_study, tmp_path):
    def built(path, **settings):
        section = {"name": "resnet18", **settings} | ({} if path is None else {"weights": str(path)})
        study = toy_study(training={"backbone": {"name": "torchvision", "settings": section}})
        return specs.build(study, study.cells()[0], "confirm", 0, {}, DIGESTS)

    for name, content in (("a.pth", "one"), ("b.safetensors", "one"), ("c.pt", "two")):
        (tmp_path / name).write_text(content)
    one, same, two = (built(tmp_path / name) for name in ("a.pth", "b.safetensors", "c.pt"))
    assert one.training.backbone_settings["weights"] == {
        "path": str(tmp_path / "a.pth"),
        "sha256": digest(tmp_path / "a.pth"),
    }
    assert keys.key(one) == keys.key(same)
    assert len({keys.key(spec) for spec in (one, two, built(None))}) == 3
    assert keys.key(built(None)) == keys.key(built(None, padding="torch", mean=None)), "defaults"
    assert str(tmp_path) not in keys.canonical(keys.record(one))
    (tmp_path / "a.pth").write_text("three")
    assert keys.key(built(tmp_path / "a.pth")) not in (keys.key(one), keys.key(two))
    with pytest.raises(ValueError, match=r"weights: .*none\.pth: no such file"):
        built(tmp_path / "none.pth")
