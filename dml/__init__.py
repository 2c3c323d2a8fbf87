"""Deep metric learning under label noise: losses, tuples, noise, and the study of them all.

    import dml

    loss = dml.losses.Triplet(margin=0.2)                 # a part's class, which an editor completes
    loss = dml.losses.build("triplet", margin=0.2)        # the same by its name in a study

Rooms are imported on first use.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in __dir__():
        return importlib.import_module(f"dml.{name}")
    raise AttributeError(f"module 'dml' has no attribute {name!r}")


def __dir__() -> list[str]:
    rooms = (room.name for room in pkgutil.iter_modules(__path__) if not room.name.startswith("_"))
    return sorted({*globals(), *rooms})
