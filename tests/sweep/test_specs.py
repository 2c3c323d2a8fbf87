import dataclasses

import pytest

from dml.sweep import specs

DIGESTS = {"packed": "p", "split": "s", "labels": "l"}


def spec(study, index=0, phase="tune", seed=0, settings=None, digests=DIGESTS):
    return specs.build(study, study.cells()[index], phase, seed, settings or {}, digests)


def test_settings_land_in_their_rooms(toy_study):
    built = spec(
        toy_study(miner={"settings": {"margin": 0.3}}),
        settings={"loss.margin": 0.25, "miner.cutoff": 0.4, "training.learning_rate": 0.01},
    )
    assert built.loss == {"name": "triplet", "settings": {"margin": 0.25}}
    assert built.miner == {"positives": "random", "negatives": "random", "settings": {"margin": 0.3, "cutoff": 0.4}}
    assert built.training["learning_rate"] == 0.01
    assert "search" not in built.training
    assert built.dataset == {"name": "digits", "train_on": "fine", "evaluate_on": ["fine"], **DIGESTS}


def test_tuning_sees_validation_classes_only(toy_study):
    study = toy_study(evaluation={"metrics": ["recall@1"], "sets": ["test", "seen"], "keep_embeddings": True})
    assert spec(study).evaluation["sets"] == ["validation"]
    assert not spec(study).evaluation["keep_embeddings"]
    assert spec(study, phase="confirm").evaluation["sets"] == ["test", "seen"]


def test_a_key_hashes_what_decides_the_result(toy_study):
    study = toy_study()
    key = specs.key(spec(study))
    assert len(key) == 64
    assert key == specs.key(spec(study))
    others = [
        spec(study, index=1),
        spec(study, phase="confirm"),
        spec(study, seed=1),
        spec(study, settings={"loss.margin": 0.3}),
        spec(study, digests={**DIGESTS, "labels": "m"}),
        spec(toy_study(training={"steps": 11})),
        dataclasses.replace(spec(study), numerics="another"),
    ]
    keys = [key, *(specs.key(other) for other in others)]
    assert len(set(keys)) == len(keys)


def test_a_key_ignores_what_does_not(toy_study):
    key = specs.key(spec(toy_study()))
    same = [
        toy_study(title="Another", name="another", seeds=[5]),
        toy_study(datasets=[{"source": "digits", "name": "renamed"}]),
        toy_study(search={"sampler": "random", "trials": 20}, resources={"concurrent": 1}),
        toy_study(losses=["triplet", "margin"]),
        toy_study(training={"steps": 10, "search": {"weight_decay": {"uniform": [0, 1]}}}),
    ]
    assert {specs.key(spec(study)) for study in same} == {key}


def test_the_digest_is_canonical():
    assert specs.digest({"a": 1.0, "b": (1, 2)}) == specs.digest({"b": [1, 2], "a": 1})
    assert specs.digest({"a": 1.5}) != specs.digest({"a": 1.25})
    with pytest.raises(ValueError, match="JSON"):
        specs.digest({"a": object()})
    with pytest.raises(ValueError, match="JSON"):
        specs.digest({"a": float("nan")})
