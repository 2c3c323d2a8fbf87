"""The networks of an audit: which labels they are trained on, that they repeat and resume, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from stages import packed_digits

from dml import audit
from dml.audit.images import Audited
from dml.audit.training import TrainedVectors, in_process
from dml.config import AuditSection, Study
from dml.data.packing import open_packed
from dml.training.loop import Training

pytestmark = pytest.mark.slow

FOLDS = 3
CONTENT = {
    "title": "Digits",
    "datasets": ["digits"],
    "losses": ["triplet", "softmax"],
    "positives": ["easy"],
    "negatives": ["random"],
    "noise": [{"name": "uniform", "rates": [0.4]}],
    "seeds": [3, 4],
    "training": {
        "backbone": {"name": "small_conv", "settings": {"width": 4}},
        "embedding_size": 5,
        "steps": 40,
        "batch": {"classes": 4, "per_class": 4},
    },
    "evaluation": {"sets": ["test"]},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return packed_digits(tmp_path_factory.mktemp("audited"))


def study(**changes):
    return Study(**{**CONTENT, **changes}, name="digits")


def images_of(place, numbers=None) -> Audited:
    """The first 300 digits but every seventh, with labels as given."""
    packed = open_packed(place / "store/packed/digits")
    rows = np.flatnonzero(np.arange(300) % 7 > 0)
    given = sources_labels()[rows] if numbers is None else numbers
    return Audited("digits", "fine", packed, rows, given, given.astype(str))


def sources_labels():
    from sklearn.datasets import load_digits

    return load_digits().target.astype(np.int64)


def learner(place, of=None, section=None, folder="networks", found=None, run=in_process, lines=None) -> TrainedVectors:
    report = (lambda line: None) if lines is None else lines.append
    section = AuditSection(trained=True) if section is None else section
    found = images_of(place) if found is None else found
    return TrainedVectors(of or study(), section, found, place / "data/digits", place / folder, run, report)


def held_out(found) -> list[np.ndarray]:
    """The labels that each fold's network may see."""
    codes, dealt = audit.check_labels(found.labels).codes, audit.folds_of(found.labels, FOLDS)
    return [np.where(dealt == fold, -1, codes) for fold in range(FOLDS)]


@pytest.fixture(scope="module")
def observed(place):
    return held_out(images_of(place))


@pytest.fixture(scope="module")
def embeddings(place, observed):
    return [np.array(vectors) for vectors in learner(place)(observed)]


def test_each_network_gets_the_labels_of_the_other_folds_and_embeds_all_images(place, observed, embeddings):
    found = images_of(place)
    assert [vectors.shape for vectors in embeddings] == [(len(found.rows), 5)] * FOLDS
    assert not np.allclose(embeddings[0], embeddings[1])
    tables = [pd.read_parquet(path) for path in (place / "networks").glob("*/data/noise/digits.parquet")]
    assert len(tables) == FOLDS
    seen = {table["observed"].to_numpy().tobytes() for table in tables}
    assert seen == {labels.tobytes() for labels in observed}
    for table in tables:
        np.testing.assert_array_equal(table["index"], found.rows)
        assert not table["flipped"].any()
    left = {path.name for path in next((place / "networks").glob("*/embeddings.npy")).parent.iterdir()}
    assert left == {"data", "embeddings.npy", "lock", "spec.json"}


def test_neither_held_out_nor_verified_labels_reach_a_network(place, observed, embeddings, tmp_path):
    """The labels in the packed index are shuffled, and those of the held-out fold are all others."""
    draw, other, found = np.random.default_rng(0), packed_digits(tmp_path), images_of(place)
    path = next((other / "store/packed/digits").glob("index*"))
    index = pd.read_parquet(path)
    shuffled = {name: draw.permutation(index[name]) for name in ("fine", "coarse")}
    index.assign(**shuffled).to_parquet(path, index=False)
    changed = np.where(observed[1] < 0, (found.numbers + 3) % 10, found.numbers)
    there = images_of(other, changed)
    again = [np.where(observed[1] < 0, -1, audit.check_labels(there.labels).codes)]
    np.testing.assert_array_equal(learner(other, found=there)(again)[0], embeddings[1])


class Stopped(Exception):
    pass


def test_an_interrupted_training_resumes_and_finished_networks_are_not_trained_again(
    place, observed, embeddings, monkeypatch
):
    calls, advance = [], Training.advance

    def interrupted(trainer):
        calls.append(trainer)
        if len(calls) == 28:  # of 20 parts each
            raise Stopped
        return advance(trainer)

    monkeypatch.setattr(Training, "advance", interrupted)
    with pytest.raises(Stopped):
        learner(place, folder="interrupted")(observed)
    done = list((place / "interrupted").glob("*/embeddings.npy"))
    assert len(done) == 1
    before, lines = done[0].stat().st_mtime_ns, []
    again = learner(place, folder="interrupted", lines=lines)(observed)
    for found, expected in zip(again, embeddings, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert done[0].stat().st_mtime_ns == before
    assert "training 2 networks of 3, one for each fold (digits|uniform-0.4|triplet|easy+random), 40 steps" in lines[0]
    assert len(calls) < 28 + 2 * 20, "from the checkpoint"
    assert not learner(place, folder="interrupted", run=lambda works: pytest.fail("trained"))(observed)[0].flags.owndata
