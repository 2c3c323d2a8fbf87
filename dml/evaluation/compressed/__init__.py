"""Scores of more vectors than memory can hold: a compressed index on disk, and exact distances of what it finds.

    scores = evaluate_compressed("vectors.npy", labels, ["recall@1", "map@r", "nmi"], folder="index", memory="4 GB")

| step | file | in -> out |
|---|---|---|
| how much at once | `plan.py` | a bound on memory -> rows of a shard, queries of a block |
| reading | `rows.py` | a `.npy` file -> some of its rows, normalised |
| the index | `index.py` | rows -> an inverted file of product-quantised residuals (IVF-PQ) on disk, shard by shard |
| candidates | `search.py` | a block of queries -> candidates by their exact distances -> values of the metrics |
| accuracy | `checking.py` | some queries, searched exactly -> recall, and how far the scores can be off |
| clusters | `minibatch.py` | rows -> k-means by mini-batches -> NMI, F1 |

Exact: distances and order of the candidates, and the number of relevant rows R. Not exact: which rows are candidates,
and the clustering. No function here knows how it is spread over processes: each works on one shard or block, leaves a
file, and `run` (`run_here`, or Ray's workers) calls it for all of them.
"""

from __future__ import annotations

from dml.evaluation.compressed.evaluating import FEWEST_CHECKED, VERSION, check_depth, evaluate_compressed
from dml.evaluation.compressed.plan import FEWEST, Plan, make_plan

__all__ = ["FEWEST", "FEWEST_CHECKED", "VERSION", "Plan", "check_depth", "evaluate_compressed", "make_plan"]
