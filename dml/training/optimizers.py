"""Optimisers and learning-rate schedules, by their names in a study."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler

from dml.protocols import Loss
from dml.types import TrainingSpec

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": lambda groups, **settings: torch.optim.SGD(groups, momentum=0.9, **settings),
    "rmsprop": torch.optim.RMSprop,
}
SCHEDULES: dict[str, Callable[[Optimizer, int], LRScheduler]] = {
    "constant": lambda optimizer, steps: LambdaLR(optimizer, lambda step: 1.0),
    "cosine": CosineAnnealingLR,
}
LOSS_RATE = 10  # default learning rate of proxies and beta, in units of the network's


def build_optimizer(training: TrainingSpec, model: nn.Module, loss: Loss) -> tuple[Optimizer, LRScheduler]:
    """The optimiser and its schedule. The loss's own parameters form a second group, without weight decay."""
    rate = training.learning_rate
    groups = [{"params": [p for p in model.parameters() if p.requires_grad], "weight_decay": training.weight_decay}]
    learned = [p for p in loss.parameters() if p.requires_grad]
    if learned:
        loss_rate = training.loss_learning_rate or LOSS_RATE * rate
        groups.append({"params": learned, "lr": loss_rate, "weight_decay": 0.0})
    optimizer = OPTIMIZERS[training.optimizer](groups, lr=rate)
    return optimizer, SCHEDULES[training.schedule](optimizer, training.steps)
