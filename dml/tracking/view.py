"""The table of a study's cells in MLflow's UI: its address, columns and charts.

MLflow's UI keeps a saved view (its menu "Views") as a tag of the experiment, and opens it by the tag's name. Each sync
writes the view of its study. The order and widths of columns need a server of MLflow 3.15 or newer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from dml.discovery import suggestion
from dml.tracking.connection import EXPERIMENT, client_of, default_uri, is_missing, quiet, runs_of, said
from dml.tracking.runs import Picture, metric_name

VIEW_TAG = "mlflow.sharedViewState."
SERVER = "http://127.0.0.1:5000"  # of `mlflow ui`
SECTION = "cells"
AXES = 6  # parameters of the parallel coordinates; more cannot be read
NAME = "attributes.`Run Name`"
LETTER, BESIDE = 7, {"name": 75, "column": 34}  # pixels: of a letter, and of what is beside a text
NARROWEST = 70  # pixels


def ui_address(study: str, server: str | None = None, uri: str | None = None, *, charts: bool = False) -> str:
    """The address of a study's cells in MLflow's UI, best first.

    Parameters
    ----------
    study : its name.
    server : the UI's address; None: MLflow's backend if it is a server, otherwise that of `mlflow ui`.
    uri : MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.
    charts : open the parallel coordinates and bar charts instead of the table.

    Raises
    ------
    ValueError : the study has no run in MLflow; the message lists those that have one.
    ConnectionError : as of `ui_addresses`.
    """
    found = ui_addresses(server, uri)
    if study not in found:
        choices = suggestion(study, found) if found else f": no study was tracked here yet (dml run {study})"
        raise ValueError(f"study {study!r} has no run in MLflow at {uri or default_uri()}{choices}")
    return found[study] + "&compareRunsMode=CHART" * charts


def ui_addresses(server: str | None = None, uri: str | None = None) -> dict[str, str]:
    """The address of `ui_address` for each study that was tracked, the latest first.

    Raises
    ------
    ConnectionError : MLflow's backend does not answer, or refuses.
    """
    uri = uri or default_uri()
    if is_missing(uri):
        return {}
    from mlflow.exceptions import MlflowException

    try:
        with quiet():
            client = client_of(uri)
            experiment = client.get_experiment_by_name(EXPERIMENT)
            if experiment is None:
                return {}
            place = experiment.experiment_id
            names = [run.data.tags["dml.study"] for run in runs_of(client, place, "tags.`dml.kind` = 'study'")]
    except MlflowException as error:
        raise ConnectionError(said(uri, error)) from error
    base = (server or (uri if uri.startswith("http") else SERVER)).rstrip("/")
    start = f"{base}/#/experiments/{place}/runs?viewStateShareKey="
    return {name: start + quote(name) for name in dict.fromkeys(reversed(names))}


def column(kind: str, name: str) -> str:
    """A column as the UI names it: metrics.`objective.mean`."""
    return f"{kind}.`{metric_name(name)}`"


def saved_view(picture: Picture) -> str:
    """The value of the experiment's tag: a view with the study's name in the UI's menu of views."""
    state = json.dumps(view_state(picture))
    return json.dumps({"name": f"{picture.study}: cells", "createdAt": 0, "updatedAt": 0, "state": state})


def view_state(picture: Picture) -> dict[str, Any]:
    """What MLflow's UI restores: the search, the order, the columns with their widths, and the charts."""
    columns = picture.columns or {}
    params, metrics = list(columns["params"]), [metric_name(name) for name in columns["metrics"]]
    cells = [run for run in picture.runs if run.kind == "cell"]
    texts = {name: [name, *(str(cell.params.get(name, "")) for cell in cells)] for name in params}
    widths = {column("params", name): max(NARROWEST, _width(own, "column")) for name, own in texts.items()}
    widths |= {column("metrics", name): _width([name], "column") for name in metrics}
    kept = {"runsCountToCompare": 100, "metricSectionId": SECTION, "deleted": False, "isGenerated": False}
    parallel = {"selectedParams": params[:AXES], "selectedMetrics": metrics[:2], "showAllRuns": True}
    bars = [name for name in metrics if not name.endswith((".std", ".low", ".high"))]
    charts = [{"type": "PARALLEL", "uuid": "cells-parallel", "displayName": "Cells", **parallel, **kept}]
    charts += [{"type": "BAR", "uuid": f"cells-{name}", "metricKey": name, **kept} for name in bars]
    return {
        "searchFilter": f"tags.`dml.study` = '{picture.study}' AND tags.`dml.kind` = 'cell'",
        "orderByKey": column("metrics", metrics[0]),
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [NAME, *widths],
        "columnOrder": [NAME, *widths],
        "columnWidths": {NAME: _width([cell.name for cell in cells], "name"), **widths},
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": charts,
        "compareRunSections": [{"uuid": SECTION, "name": "Cells", "display": True, "isReordered": False}],
    }


def _width(texts: Sequence[str], kind: str) -> int:
    """Of a column, in pixels."""
    return LETTER * max(map(len, texts), default=0) + BESIDE[kind]
