"""What choosing by wrong labels costs, for `docs/benchmarks/regime.md`.

    python benchmarks/choosing.py CACHE [--seeds 2]

Of each case of photographs of `benchmarks/free.py`, whose results are in CACHE, a rule chooses among the candidates of
the last layer by the scores of held-out training classes. What that costs is the test score of the candidate that is
best on the test classes (by MAP@R), minus that of the chosen one. The rules:

- labels as observed, by R@1 of all held-out classes, if surely better than whitening: what `dml` does;
- labels as observed, by MAP@R or R@1, of all or a quarter of them, or without the images that an audit suspects;
- true labels of the same held-out images, which nobody has: an oracle.

Tuning trials of a study cannot be judged so: they are scored on validation classes only.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import free as steps
import numpy as np
import pandas as pd

# whose scores, by which metric, and whether whitening stays unless another is surely better
Rule = tuple[str, str, bool]
RULES: dict[str, Rule] = {
    "as observed, R@1, if surely better than whitening (`free`)": ("held out, observed", "recall@1", True),
    "as observed, R@1": ("held out, observed", "recall@1", False),
    "as observed, R@1, a quarter of the classes": ("quarter, observed", "recall@1", False),
    "as observed, R@1, a quarter, if surely better": ("quarter, observed", "recall@1", True),
    "as observed, R@1, without suspects": ("unsuspected, observed", "recall@1", False),
    "true labels (an oracle), R@1": ("held out, true", "recall@1", False),
    "as observed, MAP@R": ("held out, observed", "map@r", False),
    "as observed, MAP@R, without suspects": ("unsuspected, observed", "map@r", False),
    "true labels (an oracle), MAP@R": ("held out, true", "map@r", False),
}
NO_CHOICE: Rule = ("", "", False)


def costs(record: Mapping[str, Any], rule: Rule) -> np.ndarray:
    """R@1 and MAP@R (2,), in points: of the best candidate of the last layer, by MAP@R, minus the chosen one."""
    able = [one for one in record["candidates"] if one["layer"] == steps.LAST]
    best = max(able, key=lambda one: one["test"][1])
    whitened = steps.candidate(steps.LAST, "whitening", "mirror")
    judge, metric, surely = rule
    chosen = (whitened if rule == NO_CHOICE else steps.best(judge, metric, False, surely))(record)
    return 100 * (np.array(best["test"]) - chosen["test"])


def agreement(record: Mapping[str, Any], rule: Rule) -> float:
    """The rank correlation of a rule's scores with the test scores, over the candidates of the last layer."""
    judge, metric, _ = rule
    place = steps.METRICS.index(metric)
    able = [one for one in record["candidates"] if one["layer"] == steps.LAST]
    held = pd.Series([np.mean([half[place] for half in one[judge]]) for one in able])
    return float(held.rank().corr(pd.Series([one["test"][place] for one in able]).rank()))


def free_table(records: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> str:
    """A row a rule, over cases with correct labels and with wrong ones."""
    groups = {
        "correct labels": [r for case, r in records.items() if not case[4] and case[3] != "given"],
        "wrong labels": [r for case, r in records.items() if case[4] or case[3] == "given"],
    }
    lines = ["| chosen by | " + " | ".join(f"{name}, {len(group)} cases" for name, group in groups.items()) + " |"]
    lines += ["|" + "---|" * (1 + len(groups))]
    for name, rule in {"no choice: whitening, both views": NO_CHOICE, **RULES}.items():
        cells = []
        for group in groups.values():
            if not group:
                cells.append("")
                continue
            each = np.array([costs(record, rule) for record in group])
            mean, worst = each.mean(axis=0), each.max(axis=0)
            text = f"{mean[0]:.1f} / {mean[1]:.1f} (at most {worst[0]:.1f} / {worst[1]:.1f})"
            ranks = [agreement(record, rule) for record in group if rule != NO_CHOICE]
            cells.append(f"{text}, rank correlation {np.mean(ranks):.2f}" if ranks else text)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    records = steps.results(arguments.cache, Path(), arguments.seeds, stored=True)
    print(free_table({case: record for case, record in records.items() if case[0] not in steps.LETTERS}))  # one view


if __name__ == "__main__":
    main()
