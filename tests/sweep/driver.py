"""A sweep of toys as a process of its own: `python driver.py <folder> <overrides as JSON>`."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import toy
import yaml

from dml.config import Study
from dml.pipeline.syncing import Place, syncing
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


def content(**overrides: Any) -> dict[str, Any]:
    """The base study with other sections; it searches what they say, and all trials train to their end."""
    found = {**BASE, **overrides}
    found["search"] = {"stop": "last", **found["search"]}
    found["training"] = {"search": {}, **found["training"]}
    return found


def study(**overrides: Any) -> Study:
    """The study of `content`."""
    return Study(**content(**overrides))


def place(folder: Path, uri: str | None = None, **overrides: Any) -> Place:
    """Where a sweep of this file is, with its study's file, which is written."""
    found = content(**overrides)
    name = found.pop("name")
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(found))
    places = (f"{name}.yaml", "", "store", "out", "audit", "page.html")
    return Place(*(str(folder / path) for path in places), uri)


def main() -> None:
    folder, overrides = Path(sys.argv[1]), json.loads(sys.argv[2])
    tracking = overrides.pop("tracking", "off")
    if overrides.pop("real", False):
        kind: dict[str, Any] = {}
    else:
        kind = {"trainer": "toy.Toy", "describe": toy.describe}
    try:
        with nullcontext() if tracking == "off" else syncing(place(folder, tracking, **overrides), seconds=0.5):
            run_study(study(**overrides), folder, folder / "store", folder / "out", **kind)
    except KeyboardInterrupt:
        sys.exit("interrupted")
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
