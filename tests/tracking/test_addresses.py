"""The address of a study's cells in MLflow's UI."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from tracked import picture, runs

from dml.tracking.connection import ui_address, ui_addresses
from dml.tracking.sync import sync

pytestmark = pytest.mark.slow


def test_the_address_of_the_cells(uri):
    sync(picture(), uri)
    client, (first, *_) = runs(uri)
    address = ui_address("study", "http://host:1/", uri)
    place, _, query = urlsplit(address).fragment.partition("?")
    shown = dict(parse_qsl(query))
    assert address.startswith(f"http://host:1/#{place}")
    assert place == f"/experiments/{first.info.experiment_id}/runs"
    (run,) = client.search_runs([first.info.experiment_id], shown["searchFilter"], order_by=[shown["orderByKey"]])
    assert (run.data.tags["dml.kind"], shown["orderByAsc"]) == ("cell", "false")
    assert ui_address("study", uri=uri).startswith("http://127.0.0.1:5000/#/experiments/")
    for other in (f"{uri}?timeout=30", uri.replace("sqlite:", "sqlite+pysqlite:"), "sqlite:///mlflow.db?timeout=30"):
        assert ui_addresses("http://host:1", other) == {"study": address}
