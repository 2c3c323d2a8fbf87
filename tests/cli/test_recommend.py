"""`dml recommend`: the rate that it takes, and what it prints and writes."""

import json
import math

import pandas as pd
import pytest

from dml.cli.recommend import audited_rate
from dml.files import write_json

NAME, BEST = "tiny", "digits|uniform-0|triplet|easy+random"


def test_without_a_rate_it_is_for_labels_as_given_whatever_the_audit_says(dml, swept):
    """At the rate 0.4 random positives win; labels as given are those of rate 0, though 30% of them are wrong."""
    frame = pd.read_parquet(swept / "results/tiny/trials.parquet")
    frame.loc[(frame["rate"] == 0.4) & (frame["positives"] == "random"), "test/fine/recall@1"] = 0.9
    frame.to_parquet(swept / "results/tiny/trials.parquet")
    for audit in (None, {"rate": {"guess": 0.3}}, {"review": {"rate": 0.25}, "rate": {"guess": 0.3}}):
        if audit is not None:
            write_json(swept / "audit/tiny/summary.json", audit)
        done = dml("recommend", NAME, "--json", "best.json")
        content = json.loads((swept / "best.json").read_text())
        assert (content["level"], content["methods"][0]["cell"]) == (0.0, BEST)
        assert content["rate"] == (None if audit is None else audit.get("review", {"rate": 0.3})["rate"])
        assert done.out.endswith("  dml refit tiny\n")
    dml("recommend", NAME, "--noise", "uniform-0.4", "--json", "best.json")
    content = json.loads((swept / "best.json").read_text())
    assert content["methods"][0]["cell"] == "digits|uniform-0.4|triplet|random+random"


@pytest.mark.parametrize("unknown", [None, math.nan, math.inf, -0.1, 1.5, "0.1"])
def test_a_rate_that_no_share_can_be_is_not_known(unknown, tmp_path):
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"review": {"rate": unknown}, "rate": {"guess": 0.3}}))
    assert audited_rate(tmp_path, "digits")[0] == 0.3
    path.write_text(json.dumps({"review": None, "rate": {"guess": unknown}}))
    assert audited_rate(tmp_path, "digits") is None


def test_what_was_recommended_is_remembered_until_results_change(dml, swept, monkeypatch):
    first = dml("recommend", NAME, "--json", "first.json").out
    with monkeypatch.context() as patch:
        patch.setattr("dml.cli.recommend.load_results", None)
        assert dml("recommend", NAME, "--json", "second.json").out == first
    assert (swept / "first.json").read_bytes() == (swept / "second.json").read_bytes()
    path = swept / "results/tiny/trials.parquet"
    frame = pd.read_parquet(path)
    frame[frame["cell"] != BEST].to_parquet(path)
    assert dml("recommend", NAME).out != first


def test_the_end_of_a_run_remembers_what_recommend_prints(dml, swept, monkeypatch):
    monkeypatch.setattr("dml.cli.project.Project.repro", lambda *_, **__: None)
    monkeypatch.setattr("dml.cli.run.print_costs", lambda *_: None)
    first = dml("run", NAME).out
    monkeypatch.setattr("dml.cli.recommend.load_results", None)
    assert dml("recommend", f"pipelines/studies/{NAME}.yaml").out.endswith("  dml refit tiny\n")
    assert dml("run", NAME).out == first
