"""Finding wrong labels: dml.audit beside cleanlab and beside neighbours, on data whose truth is known.

    pip install --target /tmp/peer cleanlab          # for this benchmark only: cleanlab is AGPL, never a dependency
    DML_MIRROR=/data python benchmarks/audit.py --weights mobilenet_v1_075.safetensors --peer /tmp/peer \
        --out docs/benchmarks/audit.md

What the mirror holds: `audit_data.py`. Features and finished rows are saved in `--cache`, so an interrupted run
resumes. All methods of a row get the same features and the same folds' count (5).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import audit_data
import audit_page
import numpy as np
import torch
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from dml import audit, files
from dml.audit.inputs import deal
from dml.audit.neighbours import vote
from dml.audit.probabilities import Representation

ROWS = {  # row: data, noise model, rate
    "CIFAR-100, human": ("cifar", "human", None),
    "CIFAR-100, uniform 20%": ("cifar", "uniform", 0.2),
    "CIFAR-100, uniform 40%": ("cifar", "uniform", 0.4),
    "CIFAR-100, similarity 20%": ("cifar", "similarity", 0.2),
    "CIFAR-100, small cluster 25%": ("cifar", "small_cluster", 0.25),
    "Omniglot letters, uniform 20%": ("omniglot", "uniform", 0.2),
    "MNIST, uniform 20%": ("mnist", "uniform", 0.2),
    "Flowers, similarity 20%": ("flowers", "similarity", 0.2),
    "Cars, similarity 20%": ("cars", "similarity", 0.2),
    "CIFAR-100, human, 20 groups": ("cifar", "human_groups", None),
}
FEWER = {"omniglot": 5_000}  # images: the first 250 letters


def scores(wrong: np.ndarray, score: np.ndarray) -> dict[str, float]:
    first = np.argsort(-score, kind="stable")[: int(wrong.sum())]
    return {
        "ap": average_precision_score(wrong, score),
        "auroc": roc_auc_score(wrong, score),
        "precision": float(wrong[first].mean()),
    }


def row(name: str, arguments: argparse.Namespace) -> dict:
    """All methods on one row."""
    vectors, given, true = audit_data.corrupted(*ROWS[name], slice(0, images_of(name, arguments)), 0, arguments)
    wrong, judged = given != true, np.ones(len(true), dtype=bool)
    start = time.process_time()
    audited = audit.audit(vectors, given)
    out: dict = {
        "images": len(true),
        "classes": len(np.unique(true)),
        "noise": float(wrong.mean()),
        "representation": audited.representation,
        "cpu_seconds": time.process_time() - start,
        "rate": {key: getattr(audited.rate, key) for key in ("guess", "sure", "joint", "spread", "evenness")},
        "methods": {"dml": scores(wrong, audited.score)},
        "neighbours": {},
    }
    codes = np.unique(given, return_inverse=True)[1]
    for key, values in vectors.items():
        near = vote(torch.from_numpy(values), codes, np.ones(len(codes)), 30, 1.0)
        out["neighbours"][key] = average_precision_score(wrong, -near.agreeing / near.weight)
    used = vectors[audited.representation]
    layer = Representation(torch.from_numpy(used), codes, deal(codes, audit_data.FOLDS, 0))
    out["methods"]["own"] = scores(wrong, -layer.round(judged).given_logs)
    out["review"] = reviews(audited, wrong, arguments.reviews)
    path = arguments.cache / "peer" / f"{name}-{len(codes)}-{audited.representation}.json".replace(" ", "-")
    if not path.exists() and arguments.peer is not None:
        files.write_json(path, cleanlab(used, codes, wrong))
    peer = files.read_json(path)
    if peer is None:
        print("  cleanlab is left out (see --peer)")
        return out
    out["methods"]["cleanlab"] = peer["scores"]
    return out | {"confident_joint": peer["joint"], "peer_cpu_seconds": peer["cpu_seconds"]}


def cleanlab(vectors: np.ndarray, codes: np.ndarray, wrong: np.ndarray) -> dict:
    """The peer's scores, on its usual probabilities: logistic regression, 5 stratified folds."""
    from cleanlab.count import estimate_joint
    from cleanlab.rank import get_label_quality_scores

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        split = StratifiedKFold(audit_data.FOLDS, shuffle=True, random_state=0)
        probabilities = cross_val_predict(LogisticRegression(), vectors, codes, cv=split, method="predict_proba")
        label_scores = scores(wrong, -get_label_quality_scores(codes, probabilities))
        joint = float(1 - np.trace(estimate_joint(codes, probabilities)))
    return {"scores": label_scores, "joint": joint, "cpu_seconds": time.process_time() - start}


def reviews(audited: audit.Audit, wrong: np.ndarray, count: int) -> dict[str, float]:
    """Simulated reviews of 200 looks: coverage, and the width against that of simple random looks."""
    ends = []
    for seed in range(count):
        plan = audit.review_plan(audited, 200, seed=seed)
        result = audit.estimate(plan, {int(i): "wrong" if wrong[i] else "right" for i in plan.rows})
        ends.append((result.low, result.high))
    low, high = np.array(ends).T
    rate = wrong.mean()
    simple = 2 * 1.96 * np.sqrt(rate * (1 - rate) / 200)
    covered = float(((low <= rate) & (rate <= high)).mean())
    width = float((high - low).mean() / simple)
    return {"reviews": count, "coverage": covered, "width": width, "least": least(audited.score, wrong)}


def least(score: np.ndarray, wrong: np.ndarray) -> float:
    """The least width against simple random looks that any unbiased design reaches with these scores.

    Neyman's allocation for infinitely many strata: looks in proportion to sqrt(p (1 - p)), where p is the true share of
    wrong labels among images of that score (isotonic in the score, from the true labels, so a little too sharp).
    """
    chance = IsotonicRegression().fit(score, wrong).predict(score)
    return float(np.sqrt(chance * (1 - chance)).mean() / np.sqrt(wrong.mean() * (1 - wrong.mean())))


def images_of(name: str, arguments: argparse.Namespace) -> int:
    """How many images of its data a row takes."""
    data = ROWS[name][0]
    most = arguments.cifar if data == "cifar" else arguments.others
    return min(most, FEWER.get(data, most))


def main() -> None:
    options = audit_data.parser(__doc__)
    options.add_argument("--cifar", type=int, default=50_000, help="CIFAR-100's first images")
    options.add_argument("--others", type=int, default=10_000, help="the first images of the other data")
    options.add_argument("--reviews", type=int, default=1000)
    options.add_argument("--out", type=Path, help="where the tables are written; default: printed")
    arguments = options.parse_args()

    def place(name: str) -> Path:
        file = f"{name}-{images_of(name, arguments)}-{audit_data.VERSION}.json"
        return arguments.cache / "rows" / file.replace(" ", "-")

    results = dict(audit_data.finished(ROWS, place, lambda name: row(name, arguments), arguments))
    text = audit_page.report(results, arguments.cifar, arguments.others)
    rates = arguments.cache / "rates.md"  # from audit_rates.py
    if rates.exists():
        before = audit_page.LOOKS.splitlines()[1]
        text = text.replace(before, f"{rates.read_text().strip()}\n\n{before}")
    times = arguments.cache / "speed"  # from audit_speed.py
    if times.exists():
        text += audit_page.SPEED + "".join(f"- {path.read_text()}" for path in sorted(times.iterdir()))
    if arguments.out is None:
        print(text)
    else:
        files.write_text(arguments.out, text)


if __name__ == "__main__":
    main()
