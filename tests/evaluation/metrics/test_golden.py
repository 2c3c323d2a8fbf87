"""The numbers of every metric, on separate clusters and on ones that overlap."""

import numpy as np
import pytest
import torch

from dml import discovery
from dml.evaluation import _search, evaluate, metric_names
from dml.evaluation.metrics._names import PACKAGE, metric_part

NAMES = {metric_part(name.replace("@K", "@3"))[0]: name.replace("@K", "@3") for name in metric_names()}
BACKENDS = ["torch", *(["faiss"] if _search.has_faiss() else [])]


def embeddings():
    """float64 (72, 8) in 6 pairs of clusters, and the pair of each, int64 (72,): the same on every machine.

    No clustering into 6 or 12 is a close second to the best one, so rounding does not change it.
    """
    waves = np.sin(1.0 + np.arange(72 * 8) ** 2 % 1009).reshape(72, 8)
    pair, half = np.arange(72) * 5 % 6, np.arange(72) // 36
    return 20 * np.eye(6, 8)[pair] + 6 * half[:, None] * np.eye(8)[7] + 0.5 * waves, pair


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("part", discovery.names(PACKAGE))
def test_numbers(golden, part, backend):
    """Labels that agree with the clusters, and labels that differ from them in a third of the rows."""
    x, easy = embeddings()
    hard = np.where(np.arange(72) % 3 == 1, (easy + np.arange(72) // 5) % 6, easy)
    options = {"normalize": False, "over_clustering": 2, "backend": backend}
    values = evaluate(torch.from_numpy(x), {"easy": easy, "hard": hard}, [NAMES[part]], **options)
    golden.check("metrics", part, discovery.find(PACKAGE, part), values)
