"""Choosing tuples: embeddings and labels -> `Tuples` (or `Pairs`).

A miner combines a positive policy (`positives/<name>.py`) with a negative policy (`negatives/<name>.py`); every pair
of policies works.

    mine = dml.miners.build(positives="easy", negatives="semihard_random", margin=0.2)
    tuples = mine(embeddings, labels, generator=generator)
    mine = dml.miners.PolicyMiner(dml.miners.positives.Easy(), dml.miners.negatives.SemihardRandom(margin=0.2))

A new policy is one file with one class: see `PositivePolicy` and `NegativePolicy` in `dml.protocols`.
"""

from dml.miners import negatives, positives
from dml.miners._batch import MinerBatch
from dml.miners._build import build, known_settings, settings_of_pair
from dml.miners._distances import PairDistances
from dml.miners._foreign import ForeignMiner
from dml.miners.mine import PolicyMiner

__all__ = [
    "ForeignMiner",
    "MinerBatch",
    "PairDistances",
    "PolicyMiner",
    "build",
    "known_settings",
    "negatives",
    "positives",
    "settings_of_pair",
]
