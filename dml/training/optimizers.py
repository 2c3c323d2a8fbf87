"""Optimisers, their groups of parameters and learning-rate schedules, by their names in a study."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler

from dml.models import EmbeddingNetwork
from dml.models.side_by_side import SideBySide
from dml.protocols import Loss
from dml.types import TrainingSpec

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": lambda groups, **settings: torch.optim.SGD(groups, momentum=0.9, **settings),
    "rmsprop": torch.optim.RMSprop,
}
SCHEDULES: dict[str, Callable[[Optimizer, TrainingSpec], LRScheduler]] = {
    "constant": lambda optimizer, training: LambdaLR(optimizer, lambda step: 1.0),
    "cosine": lambda optimizer, training: CosineAnnealingLR(optimizer, training.steps),
}
LOSS_RATE = 10  # default learning rate of proxies and beta, in units of the network's

version, layers_version = 2, 3
"""Of how `weight_decay` is applied (1: to norms and biases too) and of what `layer_decay` takes for a block (1: each
name with a number, 2: all between blocks with the last layers); keys of trials that use it contain it.
"""


def build_optimizer(training: TrainingSpec, model: EmbeddingNetwork, loss: Loss) -> tuple[Optimizer, LRScheduler]:
    """The optimiser and its schedule. Only the network's weights of two or more dimensions decay."""
    groups = _of_network(training, model)
    learned = [p for p in loss.parameters() if p.requires_grad]
    if learned:
        rate = training.loss_learning_rate or LOSS_RATE * training.learning_rate
        groups.append({"params": learned, "lr": rate, "weight_decay": 0.0})
    optimizer = OPTIMIZERS[training.optimizer](groups, lr=training.learning_rate)
    if training.warmup_steps:
        return optimizer, LambdaLR(optimizer, _warmed_up(training))
    return optimizer, SCHEDULES[training.schedule](optimizer, training)


def clip(training: TrainingSpec, parameters: Sequence[nn.Parameter]) -> None:
    """Limit gradients: their entries to `clip_value`, and the norm of all of them together to `clip_norm`."""
    if training.clip_value is not None:
        nn.utils.clip_grad_value_(parameters, training.clip_value)
    if training.clip_norm is not None:
        nn.utils.clip_grad_norm_(parameters, training.clip_norm)


def _of_network(training: TrainingSpec, model: EmbeddingNetwork) -> list[dict[str, Any]]:
    if training.head_learning_rate is None and not training.weight_decay and training.layer_decay is None:
        return [{"params": [p for p in model.parameters() if p.requires_grad], "weight_decay": 0.0}]
    backbone: Any = model.backbone
    groups, layers = [], _layers(backbone) if training.layer_decay else [list(backbone.parameters())]
    rates = [training.learning_rate * (training.layer_decay or 1.0) ** below for below in range(len(layers))][::-1]
    layers.append(list(model.head.parameters()))
    rates.append(training.head_learning_rate or training.learning_rate)
    for layer, rate in zip(layers, rates, strict=True):
        trained = [p for p in layer if p.requires_grad]
        weights, others = [p for p in trained if p.ndim > 1], [p for p in trained if p.ndim <= 1]
        for parameters, decay in ((weights, training.weight_decay), (others, 0.0)):
            if parameters:
                groups.append({"params": parameters, "lr": rate, "weight_decay": decay})
    return groups


BLOCK = re.compile(
    r"((?!(?:network\.)?stem\.)(?:.*?\.)?(?:\d+[a-z]?|(?:\w*(?:layer|block|stage)_?|inception|[Mm]ixed_)\d+\w?))\."
)


def _layers(network: nn.Module) -> list[list[nn.Parameter]]:
    """A network's parameters by blocks, such as `blocks.9`, `layer4` or `inception3a`, from the lowest to the highest.

    What is before and after them is with the first and the last layers, what is between two with the lower one.
    Networks side by side end together.
    """
    if isinstance(network, SideBySide):
        from_last = itertools.zip_longest(*(_layers(one)[::-1] for one in network.networks), fillvalue=[])
        return [[parameter for layer in layers for parameter in layer] for layers in from_last][::-1]
    named = [(BLOCK.match(name), parameter) for name, parameter in network.named_parameters()]
    last = max((i for i, (numbered, _) in enumerate(named) if numbered), default=len(named))
    layers: dict[str, list[nn.Parameter]] = {}
    block = "the first"
    for i, (numbered, parameter) in enumerate(named):
        block = numbered[1] if numbered else block if i < last else "the last layers"
        layers.setdefault(block, []).append(parameter)
    return list(layers.values())


def _warmed_up(training: TrainingSpec) -> Callable[[int], float]:
    """A linear rise over `warmup_steps`, then the schedule over the steps that are left (Goyal et al. 2017, 2.2)."""
    warmup, steps = training.warmup_steps, max(1, training.steps - training.warmup_steps)

    def rate(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return (1 + math.cos(math.pi * (step - warmup) / steps)) / 2 if training.schedule == "cosine" else 1.0

    return rate
