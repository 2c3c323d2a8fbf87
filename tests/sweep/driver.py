"""A sweep of toys as a process of its own: `python driver.py <folder> <overrides as JSON>`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import toy

from dml.config import Study
from dml.sweep.run import run_study

BASE: dict[str, Any] = {
    "title": "Toys",
    "name": "toys",
    "datasets": ["digits"],
    "losses": ["triplet", "contrastive"],
    "positives": ["random"],
    "negatives": ["random"],
    "seeds": [0, 1],
    "search": {"sampler": "tpe", "trials": 3},
    "training": {"steps": 10},
    "evaluation": {"metrics": ["recall@1"], "every": 5},
}


def study(**overrides: Any) -> Study:
    """The base study with other sections; it searches what they say, and all trials train to their end."""
    content = {**BASE, **overrides}
    content["search"] = {"stop": "last", **content["search"]}
    content["training"] = {"search": {}, **content["training"]}
    return Study(**content)


def main() -> None:
    folder, overrides = Path(sys.argv[1]), json.loads(sys.argv[2])
    tracking = overrides.pop("tracking", "off")
    if overrides.pop("real", False):
        kind: dict[str, Any] = {}
    else:
        kind = {"trainer": "toy.Toy", "describe": toy.describe}
    try:
        run_study(study(**overrides), folder, folder / "store", folder / "out", tracking, **kind)
    except KeyboardInterrupt:
        sys.exit("interrupted")
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
