"""The audit of a study's labels as a run of its own, which a review updates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dml.files import read_json
from dml.tracking.runs import Run

SUMMARY = "summary.json"
COUNTED = ("images", "classes", "suspects", "contradicting_duplicates", "looks")


def audits(folder: Path, study: str) -> list[Run]:
    """The run of the audit in a folder (`audit/<study>`); none if there is no audit."""
    content, saved = read_json(folder / SUMMARY), read_json(folder / "audit.json")
    if content is None or saved is None:
        return []
    params = {"dataset": content["dataset"], "representation": content["representation"], **saved["settings"]}
    settings = hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:16]
    files = [folder / "index.html", folder / SUMMARY, *sorted(folder.glob("*.csv"))]
    return [
        Run(
            "audit",
            f"audit {study}",
            start=(folder / SUMMARY).stat().st_mtime,
            tags={"dml.audit": content["digest"], "dml.settings": settings},
            params=params,
            metrics=_metrics(content),
            files={path.name: path for path in files},
        )
    ]


def _metrics(content: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a summary, flat."""
    found = {name: float(content[name]) for name in COUNTED}
    for part in ("rate", "review", "measured", "losses"):
        values = (content[part] or {}).items()
        found |= {f"{part}.{name}": float(value) for name, value in values if isinstance(value, int | float)}
    return found
