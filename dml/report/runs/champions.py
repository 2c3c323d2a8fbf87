"""Champions as runs below their study's, each with its model; the one that was asked for last has the alias."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dml.files import read_json
from dml.tracking.runs import Model, Run

ALIAS = "champion"
CARD = "champion.json"
ONNX = "model.onnx"
KEPT = ("options", "resize")  # settings of the dataset that are not shown


def champions(store: Path, study: str) -> list[Run]:
    """The champions of a study that `dml refit` trained, of all names."""
    found = []
    for place in sorted((store / "champions").glob("*")):
        cards = sorted(place.glob(f"*/model/{CARD}"), key=lambda path: path.stat().st_mtime_ns)
        for path in cards:
            card = read_json(path)
            if card is not None and card["study"] == study:
                found.append(_champion(place.name, path, card, latest=path == cards[-1]))
    return found


def _champion(name: str, path: Path, card: dict[str, Any], latest: bool) -> Run:
    folder, recipe = path.parent, card["recipe"]
    winner, described = recipe["methods"][0], read_json(folder / "model.json")
    identity = card["key"] + ("+onnx" if (folder / ONNX).is_file() else "")
    parts = {f"recipe/{recipe['score']}.{part}": winner[part] for part in ("mean", "low", "high")}
    data = {key: value for key, value in card["dataset"].items() if key not in KEPT}
    return Run(
        "champion",
        f"{name}, champion",
        tags={
            "dml.identity": f"{name}/{identity}",
            "dml.key": card["key"],
            "dml.git_commit": card["versions"]["git_commit"],
        },
        params={"rate": recipe["rate"], "method": winner["method"], **recipe["settings"], "dataset": data},
        metrics={key: value / 100 for key, value in parts.items() if value is not None},
        files={CARD: path},
        model=Model(
            folder,
            identity,
            described["image_shape"],
            described["network"]["embedding_size"],
            name=ALIAS,
            register=name,
            alias=ALIAS if latest else None,
        ),
    )
