"""`python -m dml.pipeline.repro [TARGET]`: `dvc repro`, whose own lines about stages go to `store/dvc.log`.

What stages print, and DVC's warnings and errors, stay in the terminal.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from dml.pipeline.folders import STORE


def main(arguments: Sequence[str]) -> int:
    """Run `dvc repro` with these arguments; its exit code."""
    from dvc.cli import main as dvc
    from dvc.ui import ui

    ui.enable = lambda: None  # else it ends with the advice to push
    logger = logging.getLogger("dvc")
    for handler in logger.handlers:
        handler.setLevel(max(handler.level, logging.WARNING))
    STORE.mkdir(exist_ok=True)
    log = logging.FileHandler(STORE / "dvc.log", mode="w", encoding="utf-8")
    log.setLevel(logging.INFO)
    logger.addHandler(log)
    return int(dvc(["repro", *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
