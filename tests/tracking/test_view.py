"""The table of a study's cells in MLflow's UI: it begins with what differs."""

import json

import pytest
from tracked import picture, runs

from dml.tracking.sync import sync
from dml.tracking.view import VIEW_TAG, ui_address, ui_addresses

pytestmark = pytest.mark.slow


def test_the_address_of_the_cells(uri):
    sync(picture(), uri)
    experiment = runs(uri)[1][0].info.experiment_id
    address = ui_address("study", "http://host:1/", uri)
    assert address == f"http://host:1/#/experiments/{experiment}/runs?viewStateShareKey=study"
    assert ui_address("study", uri=uri, charts=True).startswith("http://127.0.0.1:5000/#/experiments/")
    assert ui_addresses("http://host:1", uri) == {"study": address}
    assert "compareRunsMode=CHART" in ui_address("study", uri=uri, charts=True)
    for other in (f"{uri}?timeout=30", uri.replace("sqlite:", "sqlite+pysqlite:"), "sqlite:///mlflow.db?timeout=30"):
        assert ui_addresses("http://host:1", other) == {"study": address}


def test_the_view_begins_with_what_differs(uri):
    sync(picture(), uri)
    client, (first_run, *_) = runs(uri)
    experiment = first_run.info.experiment_id
    saved = json.loads(client.get_experiment(experiment).tags[VIEW_TAG + "study"])
    assert saved["name"] == "study: cells"
    state = json.loads(saved["state"])
    first = ["attributes.`Run Name`", "params.`loss`", "params.`rate`", "metrics.`objective.mean`"]
    assert state["columnOrder"][:4] == state["selectedColumns"][:4] == first
    assert "metrics.`test/fine/recall_at_1.mean`" in state["selectedColumns"]
    assert set(state["columnWidths"]) == set(state["columnOrder"])
    assert state["columnWidths"]["params.`loss`"] > state["columnWidths"]["params.`rate`"], "`triplet` is longer"
    parallel = state["compareRunCharts"][0]
    assert parallel["selectedParams"] == ["loss", "rate"]
    assert parallel["selectedMetrics"] == ["objective.mean", "objective.low"]
    (run,) = client.search_runs([experiment], state["searchFilter"], order_by=[state["orderByKey"]])
    assert run.data.tags["dml.kind"] == "cell"


def test_a_study_without_a_run_is_named_with_the_choices(uri, tmp_path):
    sync(picture(), uri)
    with pytest.raises(ValueError, match=r"'studdy' has no run in MLflow .*did you mean 'study'"):
        ui_address("studdy", uri=uri)
    nowhere = f"sqlite:///{tmp_path / 'nowhere.db'}"
    with pytest.raises(ValueError, match=r"nowhere\.db: no study was tracked here yet \(dml run quickstart"):
        ui_address("quickstart", uri=nowhere)
    assert ui_addresses(uri=nowhere) == ui_addresses(uri=f"{nowhere}?timeout=30") == {}
    assert not (tmp_path / "nowhere.db").exists()
