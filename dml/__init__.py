"""Deep metric learning under label noise: losses, tuples, noise, and the study of them all.

    import dml

    loss = dml.losses.Triplet(margin=0.2)                 # a part's class, which an editor completes
    loss = dml.losses.build("triplet", margin=0.2)        # the same by its name in a study

Rooms are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

ROOMS = (
    "audit",
    "cli",
    "config",
    "data",
    "evaluation",
    "filters",
    "losses",
    "miners",
    "models",
    "noise",
    "pipeline",
    "report",
    "snapshots",
    "sweep",
)
ROOMS += ("tracking", "training", "discovery", "files", "protocols", "seeding", "statistics", "types")


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return importlib.import_module(f"dml.{name}")
    raise AttributeError(f"module 'dml' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *ROOMS})
