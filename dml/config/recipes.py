"""Recipes: what a study leaves open, filled in for one way of training. Each value states its source.

    scratch   a network with random weights
    head      only the embedding head, on stored features of a pretrained backbone
    partial   the head and the upper blocks of a pretrained backbone, on stored activations of the block below
    finetune  a whole pretrained network

A study's own settings have priority. Those that make a recipe what it is (`FIXED`) cannot be set otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Recipe = Literal["scratch", "head", "partial", "finetune"]


class Value(NamedTuple):
    """A setting's value, and where it comes from."""

    value: Any
    source: str


MEASURED = "a pilot, not tuned: docs/LOG.md, 2026-11-23"
ADAMW = Value("adamw", "Proxy-Anchor (Kim et al. 2020), code/train.py")
DECAY = Value(1e-4, "Proxy-Anchor, code/train.py")
COSINE = Value("cosine", "Loshchilov and Hutter 2017")
WARMUP = Value(20, "Goyal et al. 2017, section 2.2; " + MEASURED)
WHITENING = Value("whitening", MEASURED)
CROPS = Value("random_resized_crop", "Revisiting DML (Roth et al. 2020); powerful-benchmarker")
AREA = Value({"scale": [0.5, 1.0]}, MEASURED)
FROZEN_NORM = Value("frozen", "Revisiting DML; Proxy-Anchor, code/net/resnet.py")
TUNING = {
    "search.sampler": Value("tpe", "Akiba et al. 2019 (Optuna)"),
    "search.trials": Value(6, MEASURED),
    "search.stop": Value("best", "Musgrave et al. 2020, section 3.2: on validation classes"),
}

RECIPES: dict[str, dict[str, Value]] = {
    "scratch": {
        "training.optimizer": ADAMW,
        "training.learning_rate": Value(1e-3, "Kingma and Ba 2015, algorithm 1"),
        "training.weight_decay": DECAY,
        "training.schedule": COSINE,
        "training.warmup_steps": WARMUP,
        "training.search": Value({"learning_rate": {"log_uniform": [3e-4, 1e-2]}}, MEASURED),
        **TUNING,
    },
    "head": {
        "training.head_start": WHITENING,
        "training.optimizer": ADAMW,
        "training.learning_rate": Value(3e-5, MEASURED),
        "training.weight_decay": DECAY,
        "training.schedule": COSINE,
        "training.warmup_steps": WARMUP,
        "training.search": Value({"learning_rate": {"log_uniform": [1e-6, 1e-3]}}, MEASURED),
        **TUNING,
    },
    "partial": {
        "training.head_start": WHITENING,
        "training.head_refit": WHITENING,
        "training.optimizer": ADAMW,
        "training.learning_rate": Value(1e-4, MEASURED),
        "training.head_learning_rate": Value(3e-5, MEASURED),
        "training.weight_decay": DECAY,
        "training.schedule": COSINE,
        "training.warmup_steps": WARMUP,
        "training.batch_norm": FROZEN_NORM,
        "training.augment": CROPS,
        "training.augment_settings": AREA,
        "training.search": Value(
            {"learning_rate": {"log_uniform": [3e-5, 5e-4]}, "head_learning_rate": {"log_uniform": [3e-6, 1e-4]}},
            MEASURED,
        ),
        **TUNING,
    },
    "finetune": {
        "training.head_start": WHITENING,
        "training.head_refit": WHITENING,
        "training.optimizer": ADAMW,
        "training.learning_rate": Value(1e-5, "Revisiting DML, parameters.py"),
        "training.head_learning_rate": Value(1e-5, MEASURED),
        "training.weight_decay": Value(4e-4, "Revisiting DML, parameters.py"),
        "training.schedule": COSINE,
        "training.warmup_steps": WARMUP,
        "training.clip_value": Value(10.0, "Proxy-Anchor, code/train.py"),
        "training.batch_norm": FROZEN_NORM,
        "training.augment": CROPS,
        "training.augment_settings": AREA,
        "training.search": Value({"learning_rate": {"log_uniform": [3e-6, 3e-4]}}, MEASURED),
        **TUNING,
    },
}

FIXED: dict[str, dict[str, bool]] = {
    "scratch": {"frozen": False, "train_from": False},
    "head": {"frozen": True, "train_from": False},
    "partial": {"frozen": False, "train_from": True},
    "finetune": {"frozen": False, "train_from": False},
}
"""Whether a recipe's `training` has these settings."""
MEANING = {
    "scratch": "trains the whole network",
    "head": "trains the head on stored features",
    "partial": "trains the blocks from `train_from` on",
    "finetune": "trains the whole network",
}


def fill(study: Mapping[str, Any]) -> dict[str, Any]:
    """A study's content with the values of its recipe where it says nothing.

    Raises
    ------
    ValueError : an unknown recipe, or a setting that contradicts it.
    """
    name = study.get("recipe")
    if name is None:
        return dict(study)
    if name not in RECIPES:
        raise ValueError(f"recipe: expected one of {', '.join(RECIPES)}, got {name!r}")
    filled = {key: dict(value) if isinstance(value, Mapping) else value for key, value in study.items()}
    training = filled.setdefault("training", {})
    if isinstance(training, dict):
        _check(name, training)
        if FIXED[name]["frozen"]:
            training["frozen"] = True
    for setting, (value, _) in RECIPES[name].items():
        section, _, key = setting.partition(".")
        own, given = filled.setdefault(section, {}), study.get(section) or {}
        if isinstance(own, dict) and not _replaced(key, given):
            own.setdefault(key, value)
    return filled


def _replaced(key: str, own: Mapping[str, Any]) -> bool:
    """Whether a value has no meaning beside the study's own settings."""
    if key in ("head_start", "head_refit"):
        return own.get("head", "linear") != "linear" or bool(own.get("head_norm")) or own.get("start") is not None
    if key == "head_learning_rate":
        return own.get("head") == "none"
    if key == "augment_settings":
        return own.get("augment", CROPS.value) != CROPS.value
    if key == "search":  # what is fixed by hand is not searched
        return any(name in own for name in ("learning_rate", "head_learning_rate"))
    if key == "warmup_steps":  # it would leave hardly a step after it
        steps = own.get("steps")
        return isinstance(steps, int) and steps < 2 * WARMUP.value
    return key in ("trials", "stop") and own.get("sampler") == "fixed"


def _check(name: str, training: Mapping[str, Any]) -> None:
    for setting, wanted in FIXED[name].items():
        given = training.get(setting)
        if wanted and setting == "train_from" and not given:
            raise ValueError(
                "recipe: partial needs the first block that is trained: expected training: {train_from: ...}"
            )
        if given is not None and bool(given) != wanted:
            fitting = [other for other in RECIPES if FIXED[other][setting] == bool(given)]
            raise ValueError(
                f"recipe: {name} {MEANING[name]}, but training.{setting} is {given!r}: remove one. "
                f"Choices of recipe: {', '.join(fitting)}"
            )
