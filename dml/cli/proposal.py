"""What `dml new` proposes for a folder of images: recipe, network, size, batch, steps, and the study's text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import yaml

from dml import models
from dml.cli.templates import environment
from dml.config import study_from
from dml.config.data import NETWORK
from dml.data.survey import Survey
from dml.sweep.cost import Estimate, estimate

SIDES = (32, 48, 64)  # pixels that a small network trains on quickly without a GPU
PHOTOGRAPH = 64  # pixels of the shorter side, from which a network pretrained on photographs is worth its cost
PRETRAINED, BLOCK = "efficientnet_lite0", "blocks.5.0"  # its last halving of the resolution
LENGTH = 1280  # of its features, and of the embeddings: docs/findings.md
BATCH = 64  # images
GPU_BATCH = 128
PER_CLASS = (2, 8)  # images of a class in a batch: the fewest and the most
EPOCHS = {"scratch": 20, "head": 10, "partial": 20, "finetune": 20}  # partial: docs/benchmarks/regime.md
STEPS = (200, 2000)
FEW = 60  # classes
MANY, SMALL = 100, 10  # classes to train, and images of one, from which proxies and a memory are proposed
MEMORY = 8192  # samples at most; Wang et al. 2020 remember up to the whole of their training images
GOAL = 3000.0  # seconds that a study should not exceed, if fewer steps can help


@dataclass(frozen=True)
class Proposal:
    """Settings of a study."""

    recipe: str
    why: str  # this recipe
    resize: int | str | None  # None: the images have one size, which is small
    classes: int  # in a batch
    per_class: int
    steps: int
    sets: tuple[str, ...]  # that are evaluated
    tune: bool  # half of the classes can be held out for validation
    gpu: bool
    whitening: bool  # a class has two training images
    few: bool  # the classes are few, so which of them test decides much
    mirror: bool  # the images look like photographs, whose mirror images show the same
    memory: int  # samples that a loss remembers, of many classes with few images each; 0: it is not such
    length: int  # of the embeddings, where the recipe does not train the whole network


def propose(survey: Survey, gpu: bool | None = None, pretrained: bool = False) -> Proposal:
    """Settings that fit the images. `pretrained`: its network finds more in small ones than their pixels do."""
    gpu = (torch.cuda.is_available() and survey.vectors is None) if gpu is None else gpu
    fine = survey.index["fine"]
    images, fitting = survey.per_class("train"), fine[survey.split["tune"] == "train"].nunique()
    held_out = survey.readable["index"][survey.readable["tune"] == "validation"]
    tune = fitting >= 2 and bool(fine[held_out].duplicated().any())
    recipe, why = _recipe(survey, gpu, pretrained)
    batch = GPU_BATCH if gpu else BATCH
    fewest, most = PER_CLASS
    per_class = max(fewest, min(most if len(images) < batch else 4, int(images.median())))
    classes = max(1, min(batch // per_class, fitting if tune else len(images)))
    per_class = max(fewest, min(batch // classes, int(images.median())))
    steps = round(EPOCHS[recipe] * int(images.sum()) / (classes * per_class) / 100) * 100
    roles = set(survey.split["final"])
    sets = [name for name, of in (("test", {"test", "query"}), ("seen", {"seen"})) if of & roles]
    return Proposal(
        recipe,
        why,
        _resize(survey, recipe),
        classes,
        per_class,
        min(max(steps, STEPS[0]), STEPS[1]),
        tuple(sets),
        tune,
        gpu,
        bool((images > 1).any()),
        tune and fine.nunique() <= FEW and roles <= {"train", "test", "unused"},
        survey.side >= PHOTOGRAPH and not survey.grey,
        min(MEMORY, int(images.sum()) // 2) if len(images) >= MANY and images.median() < SMALL else 0,
        LENGTH if survey.vectors is None else survey.vectors.shape[1],
    )


def in_time(
    name: str,
    options: Mapping[str, Any],
    survey: Survey,
    settings: Proposal,
    facts: Sequence[str],
    places: tuple[Path, Path, Path],
    seconds: float = 3.0,
) -> tuple[Proposal, Estimate]:
    """A proposal with as many steps as fit into `GOAL`, and its study's cost; `places` are as of `estimate`."""

    def cost(settings: Proposal) -> Estimate:
        study = study_from(yaml.safe_load(study_text(name, options, survey, settings, facts)), name)
        return estimate(study, *places, seconds=seconds)

    expected = cost(settings)
    if expected.seconds is not None and expected.seconds > GOAL:
        steps = math.floor(settings.steps * GOAL / expected.seconds / 100) * 100
        settings = replace(settings, steps=max(STEPS[0], steps))
        expected = cost(settings)
    return settings, expected


def _recipe(survey: Survey, gpu: bool, pretrained: bool) -> tuple[str, str]:
    if survey.vectors is not None:
        return "head", "recipe head: a linear map of the vectors, as long as they are; a shorter one finds less"
    if gpu:
        return "finetune", "recipe finetune: a GPU trains the whole of a pretrained ResNet-50"
    if survey.side < PHOTOGRAPH and not pretrained:
        few = f"the images have fewer than {PHOTOGRAPH} pixels a side"
        return "scratch", f"recipe scratch: a small network with random weights, since {few}"
    try:
        models.find(PRETRAINED).check_installed({})
    except ValueError as error:
        why = f"no pretrained one is here: {error}"
        return "scratch", f"recipe scratch: a small network with random weights, since {why}"
    return "partial", f"recipe partial: the upper blocks of a pretrained {PRETRAINED}, which take no GPU" + (
        ": it finds more in the enlarged images than their pixels do" * (survey.side < PHOTOGRAPH)
    )


def _resize(survey: Survey, recipe: str) -> int | str | None:
    if survey.vectors is not None:
        return None
    if recipe != "scratch":
        return NETWORK
    sizes = survey.index.loc[survey.index["height"] > 0, ["height", "width"]]
    height, width = sizes.iloc[0] if len(sizes) else (0, 0)
    if survey.sizes == 1 and height == width and height <= SIDES[-1]:
        return None
    return max((side for side in SIDES if side <= survey.side), default=SIDES[0])


def study_text(name: str, options: Mapping[str, Any], survey: Survey, settings: Proposal, facts: Sequence[str]) -> str:
    """The study's file."""
    template = environment().get_template("study.yaml")
    return template.render(
        name=name,
        source="imagefolder" if survey.vectors is None else "features",
        options=options,
        corrupt=len(survey.corrupt),
        given=min(max(round(survey.given_rate, 3), 0.001), 0.999) if survey.given_rate else 0.0,
        unverified="verified" in survey.index,
        settings=settings,
        facts=facts,
        partial={"backbone": PRETRAINED, "train_from": BLOCK},
    )
