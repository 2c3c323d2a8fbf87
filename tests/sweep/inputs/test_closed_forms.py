"""Closed forms of what trials start from, scored at each noise rate on the digits; against `fit` and NumPy."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from stages import pack_digits

from dml import noise
from dml.config import ResourcesSection
from dml.data.packing import open_packed
from dml.evaluation import augmented, evaluate
from dml.sweep.inputs.baselines import closed_form_scores
from dml.training.closed_form import ClosedForm, apply
from dml.training.free import choose
from dml.types import DatasetSpec, EvaluationSpec, LossSpec, NoiseSpec, TrainingSpec, TrialSpec

pytestmark = pytest.mark.slow

KEY = "test/fine/recall@1"
TRAINED, RATES, SEEDS = range(6), (0.0, 0.4), (0, 1)
NAMES = [f"pixels, {size}{word}" for word in ("components", "whitened", "LDA") for size in ("", "8 ")]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The outputs of the data stages: the digits 0 to 5 train, with wrong labels that seeds draw."""
    root = tmp_path_factory.mktemp("data")
    fine = pack_digits(root)["fine"].to_numpy()
    (root / "split").mkdir()
    final = np.where(np.isin(fine, TRAINED), "train", "test")
    split = pd.DataFrame({"index": np.arange(len(fine)), "final": final, "tune": "train"})
    split.to_parquet(root / "split/digits.parquet", index=False)
    rows = np.flatnonzero(final == "train")
    (root / "noise").mkdir()
    models = [("uniform", rate, {}) for rate in RATES]
    noise.table(rows, fine[rows], models, SEEDS, "confirm").to_parquet(root / "noise/digits.parquet", index=False)
    return root


def scored(root, views="one"):
    """The records of a study with these seeds and rates."""
    jobs, loss, training = [], LossSpec("triplet"), TrainingSpec(embedding_size=8)
    evaluation = EvaluationSpec(metrics=("recall@1",), sets=("test",), views=views)
    for seed in SEEDS:
        for rate in RATES:
            data = DatasetSpec("digits", packed="packed", split="split", labels=f"labels {seed} {rate}")
            spec = TrialSpec("confirm", seed, data, NoiseSpec("uniform", rate), loss, None, training, evaluation)
            jobs.append(SimpleNamespace(phase="confirm", spec=spec, cell=SimpleNamespace(dataset="digits")))
    study = SimpleNamespace(name="mine", resources=ResourcesSection())
    plan = SimpleNamespace(study=study, ended=lambda: [(job, None) for job in jobs])
    return closed_form_scores(plan, root, report=lambda line: None)


def expected(root, kinds, seed, rate):
    """R@1 of the new digits for each kind and size, from the images and observed labels."""
    packed = open_packed(root / "packed")
    fine = packed.index["fine"].to_numpy()
    images = packed.images[:].reshape(len(fine), -1) / 255.0
    table = pd.read_parquet(root / "noise/digits.parquet")
    own = table[(table["seed"] == seed) & (table["rate"] == rate)]
    rows, observed = own["index"].to_numpy(), own["observed"].to_numpy()
    images -= images[rows].mean(axis=0)
    tested = ~np.isin(fine, TRAINED)
    fitted = ClosedForm(images[rows], observed)
    projected = [apply(fitted.projection(kind, size), images[tested]) for kind, size in kinds]
    return [evaluate(x, fine[tested], ["recall@1"])["recall@1"] for x in projected]


def test_a_score_for_each_rate_is_the_mean_over_seeds(root):
    found = [record for record in scored(root) if ", free" not in record["name"]]
    assert [(record["rate"], record["name"]) for record in found] == [(rate, name) for rate in RATES for name in NAMES]
    kinds = [(kind, size) for kind in ("components", "whitening", "lda") for size in (None, 8)]
    means = [np.mean([expected(root, kinds, seed, rate) for seed in SEEDS], axis=0) for rate in RATES]
    for record, mean in zip(found, np.concatenate(means), strict=True):
        assert record["scores"] == {KEY: pytest.approx(mean, abs=2e-3)}
        assert (record["dataset"], record["noise"], record["seeds"]) == ("digits", "uniform", [0, 1])
    by_name = {(record["rate"], record["name"]): record["scores"][KEY] for record in found}
    assert by_name[0.0, "pixels, LDA"] != by_name[0.4, "pixels, LDA"]
    assert by_name[0.0, "pixels, components"] == by_name[0.4, "pixels, components"]


def test_what_is_free_is_chosen_by_observed_labels_and_judged_on_test_classes(root):
    by_name = {(record["rate"], record["name"]): record for record in scored(root, views="mirror")}
    packed = open_packed(root / "packed")
    fine, table = packed.index["fine"].to_numpy(), pd.read_parquet(root / "noise/digits.parquet")
    tested = ~np.isin(fine, TRAINED)
    for rate in RATES:
        scores, chosen = [], []
        for seed in SEEDS:
            own = table[(table["seed"] == seed) & (table["rate"] == rate)]
            rows = own["index"].to_numpy()
            given = packed.images[:] / 255.0
            views = np.stack([view.reshape(len(fine), -1) for view in (given, given[:, :, ::-1])], axis=1)
            views -= views[rows].mean(axis=(0, 1))
            free = choose({"last layer": views[rows]}, own["observed"].to_numpy(), "recall@1")
            embeddings = free.embed({"last layer": views[tested]})
            again = augmented(embeddings).numpy()
            scores.append([evaluate(x, fine[tested], ["recall@1"])["recall@1"] for x in (embeddings, again)])
            chosen.append(str(free.chosen))
        for name, score in zip(("pixels, free", "pixels, free, re-ranked"), np.mean(scores, axis=0), strict=True):
            assert by_name[rate, name]["scores"][KEY] == pytest.approx(score, abs=2e-3)
        assert by_name[rate, "pixels, free"]["chosen"] == chosen
