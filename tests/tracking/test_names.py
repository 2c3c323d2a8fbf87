from dml.tracking.names import metric_name, parameters


def test_metric_names():
    assert metric_name("test/fine/recall@10") == "test/fine/recall_at_10"
    assert metric_name("test/fine/map@r") == "test/fine/map_at_r"
    assert metric_name("nmi+") == "nmi_plus"
    assert metric_name("a|b(c)") == "a_b_c_"


def test_parameters_are_flat_and_leave_none_out():
    assert parameters({"a": 1, "b": {"c": True, "d": None}, "e@": "x" * 1000}) == {
        "a": "1",
        "b.c": "True",
        "e_at_": "x" * 500,
    }
