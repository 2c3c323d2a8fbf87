"""The page that `benchmarks/audit.py` writes."""

from __future__ import annotations

import datetime
import subprocess

EXTRA = ("CIFAR-100, human, 20 groups",)  # not among the nine rows
METHODS = {
    "dml": "dml.audit",
    "cleanlab": "cleanlab, logistic regression",
    "own": "cleanlab's score on dml's first round",
}

HEADER = """# Finding wrong labels

{command}

commit {commit}, {date}. Features of a frozen MobileNet v1 0.75 (and pixels for MNIST and Omniglot), one run each.
Images are the first of each dataset: {cifar:,} of CIFAR-100's 50,000 training images, at most {others:,} of the others,
where Omniglot's first 250 letters have 5,000. All methods of a row get the same features; "used" is the representation
that `dml.audit` chose, and cleanlab gets it too. The last row is not among the nine. What a head is worth without the
suspects: [retraining.md](retraining.md). Networks that are trained on the other folds, beside pixels:
[audit-trained.md](audit-trained.md).

## Average precision

At least 2 points above cleanlab: {above} of {compared} rows (goal: 7 of 9). Below cleanlab: {below}.

A part of the gain is the classifier: cleanlab gets the probabilities of scikit-learn's logistic regression with its
defaults, on vectors as they are, by 5 folds. Beside cleanlab's score on the probabilities of `dml.audit`'s first round,
`dml.audit` is at least 2 points above on {above_first} rows. Below that: {below_first}.
"""
RATE = """
## The first guess of the noise rate

At most half as far off as cleanlab's confident joint: {halved} of {compared} rows (goal: all). Farther off: {farther}.
"""
LOOKS = """
## 200 looks: interval, and CPU seconds

Coverage of at least 93%: {covered} of {rows} rows (goal: all). At most half as wide as simple random looks: {narrow}
rows (goal: all). "least possible" is the width of Neyman's allocation with the true share of wrong labels at each
score; where it is above 0.5, no unbiased design can be half as wide with these scores: {impossible} rows.
"""
SPEED = """
## Time and memory

`python benchmarks/audit_speed.py n,D,K` on random vectors, one representation. Other work on the machine stretches
the clock, not the processor time. Goals on two cores: 50,000 x 768 in under 3 minutes and 1 GB, a million x 128 in
under 4 GB.

"""


def report(results: dict[str, dict], cifar: int, others: int) -> str:
    """The page but for times, and for rows of `benchmarks/audit_rates.py`."""
    nine = {name: one for name, one in results.items() if name not in EXTRA and has_peer(one)}
    gains = {name: 100 * (ap(one, "dml") - ap(one, "cleanlab")) for name, one in nine.items()}
    beside_first = {name: 100 * (ap(one, "dml") - ap(one, "own")) for name, one in nine.items()}
    ratios = {name: off(one) for name, one in results.items() if has_peer(one)}
    looks = [one["review"] for one in results.values()]
    methods = " | ".join(METHODS.values())
    return "\n".join(
        [
            HEADER.format(
                command=f"    python benchmarks/audit.py --cifar {cifar} --others {others}",
                cifar=cifar,
                others=others,
                commit=_commit(),
                date=datetime.date.today(),
                above=sum(gain >= 2 for gain in gains.values()),
                compared=len(gains),
                below="; ".join(name for name, gain in gains.items() if gain < 0) or "none",
                above_first=sum(gain >= 2 for gain in beside_first.values()),
                below_first="; ".join(name for name, gain in beside_first.items() if gain < 0) or "none",
            ),
            f"| | images | wrong | used | {methods} | neighbours | gain |",
            "|---" * (6 + len(METHODS)) + "|",
            *(_precision(name, one) for name, one in results.items()),
            "",
            "## AUROC, and precision at the true count",
            "",
            f"| | {methods} |",
            "|---" * (1 + len(METHODS)) + "|",
            *(_others(name, one) for name, one in results.items()),
            RATE.format(
                halved=sum(ratio <= 0.5 for ratio in ratios.values()),
                compared=len(ratios),
                farther="; ".join(name for name, ratio in ratios.items() if ratio > 0.5) or "none",
            ),
            "| | true | guess | confident joint | error of the guess / of the joint | sure | evenness |",
            "|---" * 7 + "|",
            *(_rate(name, one) for name, one in results.items()),
            LOOKS.format(
                covered=sum(one["coverage"] >= 0.93 for one in looks),
                rows=len(looks),
                narrow=sum(one["width"] <= 0.5 for one in looks),
                impossible=sum(one["least"] > 0.5 for one in looks),
            ),
            "| | coverage | width against simple random looks | least possible | dml.audit, CPU s | cleanlab, CPU s |",
            "|---" * 6 + "|",
            *(_looks(name, one) for name, one in results.items()),
            "",
        ]
    )


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()


def ap(one: dict, method: str) -> float:
    return one["methods"][method]["ap"]


def has_peer(one: dict) -> bool:
    return "cleanlab" in one["methods"]


def off(one: dict) -> float:
    """The error of the guess as a share of the confident joint's."""
    return abs(one["rate"]["guess"] - one["noise"]) / max(abs(one["confident_joint"] - one["noise"]), 1e-9)


def _precision(name: str, one: dict) -> str:
    cells = [f"{ap(one, key):.3f}" if key in one["methods"] else "" for key in METHODS]
    near = ", ".join(f"{key} {value:.3f}" for key, value in one["neighbours"].items())
    gain = f"{100 * (ap(one, 'dml') - ap(one, 'cleanlab')):+.1f}" if has_peer(one) else ""
    start = f"| {name} | {one['images']:,} | {one['noise']:.1%} | {one['representation']} | "
    return start + " | ".join(cells) + f" | {near} | {gain} |"


def _others(name: str, one: dict) -> str:
    parts = [one["methods"].get(key) for key in METHODS]
    cells = ["" if part is None else f"{part['auroc']:.3f}, {part['precision']:.3f}" for part in parts]
    return f"| {name} | " + " | ".join(cells) + " |"


def _rate(name: str, one: dict) -> str:
    rate = one["rate"]
    cells = [f"{one['confident_joint']:.3f}", f"{off(one):.2f}"] if has_peer(one) else ["", ""]
    start = f"| {name} | {one['noise']:.3f} | {rate['guess']:.3f} | {cells[0]} | {cells[1]} "
    return start + f"| {rate['sure']:.3f} | {rate['evenness']:.2f} |"


def _looks(name: str, one: dict) -> str:
    seen = one["review"]
    peer = f"{one['peer_cpu_seconds']:.0f}" if has_peer(one) else ""
    start = f"| {name} | {seen['coverage']:.3f} | {seen['width']:.2f} | {seen['least']:.2f} "
    return start + f"| {one['cpu_seconds']:.0f} | {peer} |"
