"""The table of a study's cells in MLflow's UI: its address, columns and charts.

MLflow's UI keeps a shared view (its button "Share") as a tag of the experiment, and opens it by the tag's name. Each
sweep writes the view of its study.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dml.tracking.names import metric_name

if TYPE_CHECKING:
    from dml.tracking.finding import FoundStudy

VIEW_TAG = "mlflow.sharedViewState."
SERVER = "http://127.0.0.1:5000"  # of `mlflow ui`
SECTION = "cells"
AXES = 6  # parameters of the parallel coordinates; more cannot be read
OBJECTIVE = "objective.mean"


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
    """
    from dml.tracking.finding import find_study

    return _address(find_study(study, uri), server, charts)


def ui_addresses(server: str | None = None, uri: str | None = None) -> dict[str, str]:
    """The address of `ui_address` for each study that was tracked, the latest first."""
    from dml.tracking.finding import find_studies

    return {name: _address(found, server, charts=False) for name, found in find_studies(uri).items()}


def _address(found: FoundStudy, server: str | None, charts: bool) -> str:
    study = found.run.data.tags["dml.study"]
    base = server or (found.uri if found.uri.startswith("http") else SERVER)
    if found.has_view:
        terms = {"viewStateShareKey": study}
    else:  # of an earlier version of dml
        terms = {"searchFilter": cells_filter(study), "orderByKey": column("metrics", OBJECTIVE), "orderByAsc": "false"}
    if charts:
        terms["compareRunsMode"] = "CHART"
    return f"{base.rstrip('/')}/#/experiments/{found.experiment}/runs?{urlencode(terms)}"


def default_uri() -> str:
    """MLflow's backend: `MLFLOW_TRACKING_URI`, or SQLite in the working directory."""
    return os.environ.get("MLFLOW_TRACKING_URI") or "sqlite:///mlflow.db"


def is_missing(uri: str) -> bool:
    """Whether the backend is an SQLite file that does not exist, so that nothing was tracked."""
    return uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).is_file()


def cells_filter(study: str) -> str:
    """The search that finds the runs of a study's cells."""
    return f"tags.`dml.study` = '{study}' AND tags.`dml.kind` = 'cell'"


def column(kind: str, name: str) -> str:
    """A column as the UI names it: metrics.`objective.mean`."""
    return f"{kind}.`{metric_name(name)}`"


def view_state(study: str, columns: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What MLflow's UI restores: the search, the order, the columns and the charts.

    Parameters
    ----------
    columns : the names of the `params` and `metrics` to show; the first metric is the objective.
    """
    params, metrics = list(columns["params"]), [metric_name(name) for name in columns["metrics"]]
    kept = {"runsCountToCompare": 100, "metricSectionId": SECTION, "deleted": False, "isGenerated": False}
    parallel = {"selectedParams": params[:AXES], "selectedMetrics": metrics[:2], "showAllRuns": True}
    charts = [{"type": "PARALLEL", "uuid": "cells-parallel", "displayName": "Cells", **parallel, **kept}]
    charts += [
        {"type": "BAR", "uuid": f"cells-{name}", "metricKey": name, **kept} for name in metrics if not _is_spread(name)
    ]
    return {
        "searchFilter": cells_filter(study),
        "orderByKey": column("metrics", OBJECTIVE),
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [
            "attributes.`Run Name`",
            *(column("params", name) for name in params),
            *(column("metrics", name) for name in metrics),
        ],
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": charts,
        "compareRunSections": [{"uuid": SECTION, "name": "Cells", "display": True, "isReordered": False}],
    }


def _is_spread(name: str) -> bool:
    return name.rpartition(".")[2] in ("std", "low", "high")


if __name__ == "__main__":
    for name, address in ui_addresses().items():
        print(f"{name}: {address}")
