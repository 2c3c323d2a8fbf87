"""An exponential moving average of a network's weights (Polyak and Juditsky 1992; torch's `AveragedModel`)."""

from __future__ import annotations

from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def average_of(model: nn.Module, decay: float) -> AveragedModel:
    """The average, which starts from the present weights: average <- decay average + (1 - decay) weights each step.

    Buffers, such as the statistics of batch norm, are those of the last step.
    """
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
    averaged.update_parameters(model)  # torch copies the first weights that it sees: let that be the start
    return averaged
