"""What a study leaves open: its search, and with a recipe all of one way of training. Each value states its source.

Without a recipe, a study is tuned (`SEARCHED`). A study's own settings have priority over those of its recipe, except
for those that make the recipe what it is (`FIXED`). `LAYER_NORM` has other values for networks with layer norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import dml
from dml.config.errors import LocatedError
from dml.config.terms import NAMES_ONLY
from dml.types import TrainingSettings

Recipe = Literal["scratch", "head", "partial", "finetune"]


class Value(NamedTuple):
    """A setting's value, and where it comes from."""

    value: Any
    source: str


MEASURED = "a pilot"  # not tuned: docs/LOG.md, 2026-11-23
WARMUP = Value(20, "Goyal et al. 2017, section 2.2; " + MEASURED)
WHITENING = Value("whitening", MEASURED)
CROPS = Value("random_resized_crop", "Revisiting DML (Roth et al. 2020); powerful-benchmarker")
STOP = Value("best", "Musgrave et al. 2020, section 3.2: on validation classes")
COMMON = {
    "training.optimizer": Value("adamw", "Proxy-Anchor (Kim et al. 2020), code/train.py"),
    "training.weight_decay": Value(1e-4, "Proxy-Anchor, code/train.py"),
    "training.schedule": Value("cosine", "Loshchilov and Hutter 2017"),
    "training.warmup_steps": WARMUP,
    "search.sampler": Value("tpe", "Akiba et al. 2019 (Optuna)"),
    "search.trials": Value(6, MEASURED),
    "search.stop": STOP,
}
RATES = ("learning_rate", "head_learning_rate")


def searched(*rates: list[float], source: str = MEASURED) -> Value:
    """A search of the rate (and the head's, if it has its own), the decay, and the rate of a loss's own parameters."""
    ranges = {name: {"log_uniform": interval} for name, interval in zip(RATES, rates, strict=False)}
    source += "; decay around Revisiting DML's 4e-4 and Proxy-Anchor's 1e-4; own: each loss's file"
    return Value({**ranges, "weight_decay": {"log_uniform": [1e-6, 1e-2]}, "loss_learning_rate": "own"}, source)


SEARCHED = {
    "training.search": searched([1e-4, 1e-2], source="a decade around the default rate on both sides"),
    "search.stop": STOP,
}
"""What is searched without a recipe."""

UPPER = {
    "training.head_start": WHITENING,
    "training.head_refit": WHITENING,
    "training.batch_norm": Value("frozen", "Revisiting DML; Proxy-Anchor, code/net/resnet.py"),
    "training.augment": CROPS,
    "training.augment_settings": Value({"scale": [0.5, 1.0]}, MEASURED),
}
RECIPES: dict[str, dict[str, Value]] = {
    "scratch": {
        **COMMON,
        "training.learning_rate": Value(1e-3, "Kingma and Ba 2015, algorithm 1"),
        "training.search": searched([3e-4, 1e-2]),
    },
    "head": {
        **COMMON,
        "training.head_start": WHITENING,
        "training.learning_rate": Value(3e-5, MEASURED),
        "training.search": searched([1e-6, 1e-3]),
    },
    "partial": {
        **COMMON,
        **UPPER,
        "training.learning_rate": Value(1e-4, MEASURED),
        "training.head_learning_rate": Value(3e-5, MEASURED),
        "training.search": searched([3e-5, 5e-4], [3e-6, 1e-4]),
    },
    "finetune": {
        **COMMON,
        **UPPER,
        "training.learning_rate": Value(1e-5, "Revisiting DML, parameters.py"),
        "training.head_learning_rate": Value(1e-5, MEASURED),
        "training.weight_decay": Value(4e-4, "Revisiting DML, parameters.py"),
        "training.clip_value": Value(10.0, "Proxy-Anchor, code/train.py"),
        "training.search": searched([3e-6, 3e-4]),
    },
}

HYP_VIT = "Hyp-ViT (Ermolov et al. 2022; htdt/hyp_metric), train.py"
TRANSFORMER = {
    "training.optimizer": Value("adamw", HYP_VIT),
    "training.learning_rate": Value(1e-5, HYP_VIT),
    "training.weight_decay": Value(
        0.01, "torch's default for AdamW, which Hyp-ViT's train.py does not change; HIER (Kim et al. 2023), scripts"
    ),
    "training.clip_norm": Value(3.0, HYP_VIT + "; DINOv2 (Oquab et al. 2023), ssl_default_config.yaml"),
}
RATE_RANGE = "not measured here: around the 1e-5 of Hyp-ViT and the 5e-6 of HIER"
REPLACED = ("training.batch_norm", "training.clip_value")  # such networks have no batch norm, and their norm is clipped
LAYER_NORM: dict[str, dict[str, Value]] = {
    "partial": {
        **{key: value for key, value in RECIPES["partial"].items() if key not in REPLACED},
        **TRANSFORMER,
        "training.search": searched([1e-6, 1e-4], [3e-6, 1e-4], source=RATE_RANGE + "; the head's: " + MEASURED),
    },
    "finetune": {
        **{key: value for key, value in RECIPES["finetune"].items() if key not in REPLACED},
        **TRANSFORMER,
        "training.layer_decay": Value(
            0.9, "DINOv2, ssl_default_config.yaml, of pretraining; MAE (He et al. 2022), FINETUNE.md: 0.65 to 0.75"
        ),
        "training.augment_settings": Value({"scale": [0.2, 1.0]}, HYP_VIT),
        "training.search": searched([1e-6, 1e-4], source=RATE_RANGE),
    },
}
"""Of networks that have layer norm and no batch norm, such as Vision Transformers, Swin and ConvNeXt."""

FIXED = {name: {"frozen": name == "head", "train_from": name == "partial"} for name in RECIPES}
"""Whether a recipe's `training` has these settings."""
MEANING = {
    "scratch": "trains the whole network",
    "head": "trains the head on stored features",
    "partial": "trains the blocks from `train_from` on",
    "finetune": "trains the whole network",
}


def fill(study: Mapping[str, Any]) -> dict[str, Any]:
    """A study's content with the values of its recipe where it says nothing; without one, with a search."""
    name = study.get("recipe")
    if name is not None and (not isinstance(name, str) or name not in RECIPES):
        raise LocatedError(f"expected one of {', '.join(RECIPES)}, got {name!r}", "recipe")
    if name is None and not _trains(study):
        return dict(study)
    filled = {key: dict(value) if isinstance(value, Mapping) else value for key, value in study.items()}
    training = filled.setdefault("training", {})
    if isinstance(training, dict) and name is not None:
        _check(name, training)
        if FIXED[name]["frozen"]:
            training["frozen"] = True
    values = SEARCHED if name is None else RECIPES[name]
    if name in LAYER_NORM and _has_layer_norm(training):
        values = LAYER_NORM[name]
    for setting, (value, _) in values.items():
        section, _, key = setting.partition(".")
        settings, stated = filled.setdefault(section, {}), study.get(section) or {}
        if isinstance(settings, dict) and isinstance(stated, Mapping) and not _replaced(key, stated):
            settings.setdefault(key, _open(value, stated) if setting == "training.search" else value)
    return filled


def _has_layer_norm(training: Any) -> bool:
    """Whether a study's network has layer norm. False where the study is wrong, which its sections say."""
    if NAMES_ONLY.get():
        return False
    try:
        backbone = training.get("backbone", TrainingSettings.backbone)
        part = backbone if isinstance(backbone, Mapping) else {"name": backbone}
        return dml.models.has_layer_norm(part["name"], part.get("settings") or training.get("backbone_settings") or {})
    except (ValueError, TypeError, KeyError, AttributeError):
        return False


def _trains(study: Mapping[str, Any]) -> bool:
    """Whether a study without a recipe has something to search."""
    search, training = study.get("search") or {}, study.get("training") or {}
    fixed = isinstance(search, Mapping) and search.get("sampler") == "fixed"
    return not fixed and not (isinstance(training, Mapping) and training.get("steps") == 0)


def _open(search: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """What is searched beside a study's own settings: what is set by hand is not, and one rate set by hand sets all."""
    set_by_hand = set(stated) | (set(RATES) if set(RATES) & set(stated) else set())
    return {key: space for key, space in search.items() if key not in set_by_hand}


def _replaced(key: str, stated: Mapping[str, Any]) -> bool:
    """Whether a value has no meaning beside the study's own settings."""
    if key in ("head_start", "head_refit"):
        return stated.get("init_from") is not None
    if key == "augment_settings":
        return stated.get("augment", CROPS.value) != CROPS.value
    if key == "warmup_steps":  # it would leave hardly a step after it
        steps = stated.get("steps")
        return isinstance(steps, int) and steps < 2 * WARMUP.value
    return key in ("trials", "stop") and stated.get("sampler") == "fixed"


def _check(name: str, training: Mapping[str, Any]) -> None:
    for setting, required in FIXED[name].items():
        stated = training.get(setting)
        if required and setting == "train_from" and not stated:
            raise ValueError(
                "recipe: partial needs the first block that is trained: expected training: {train_from: ...}"
            )
        if stated is not None and bool(stated) != required:
            fitting = [other for other in RECIPES if FIXED[other][setting] == bool(stated)]
            raise ValueError(
                f"recipe: {name} {MEANING[name]}, but training.{setting} is {stated!r}: remove one. "
                f"Choices of recipe: {', '.join(fitting)}"
            )
