"""Metrics by their names in the field."""

import pytest

from dml import discovery
from dml.evaluation import check_metric, metric_names, metric_part


@pytest.mark.parametrize(
    ("name", "expected"),
    [("recall@5", ("recall", {"k": 5})), ("map@r", ("map_at_r", {})), ("nmi+", ("nmi_plus", {})), ("f1", ("f1", {}))],
)
def test_metrics_are_named_as_the_field_names_them(name, expected):
    assert metric_part(name) == expected


def test_every_name_leads_to_its_part():
    parts = [metric_part(name.replace("@K", "@1"))[0] for name in metric_names()]
    assert tuple(parts) == discovery.names("dml.evaluation.metrics")
    for name in metric_names():
        check_metric(name.replace("@K", "@1"))
