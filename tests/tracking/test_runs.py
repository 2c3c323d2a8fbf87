from dml.tracking.runs import key_of, metric_name, parameters


def test_names_that_mlflow_accepts():
    assert metric_name("test/fine/recall@1") == "test/fine/recall_at_1"
    assert metric_name("test/fine/nmi+") == "test/fine/nmi_plus"
    assert metric_name("a*b") == "a_b"


def test_nested_settings_are_flat_without_what_is_not_set():
    assert parameters({"loss": {"name": "triplet", "margin": 0.2}, "miner": None}) == {
        "loss.name": "triplet",
        "loss.margin": "0.2",
    }
    assert len(parameters({"text": "x" * 600})["text"]) == 500


def test_runs_of_earlier_versions_are_found_by_the_tags_that_they_have():
    tags = {"dml.cell": "c", "dml.trial": "c|tune|0", "dml.key": "k", "dml.phase": "tune"}
    assert key_of("trial", tags) == ("trial", "c|tune|0", "k")
    assert key_of("cell", tags) == ("cell", "c")
    assert key_of("study", tags) == ("study",)
