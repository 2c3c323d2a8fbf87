"""What the default study says is sure: held to the trials that it ran (tests/report/quickstart.parquet).

After a change of what it trains: `dml run quickstart`, then write its table anew with `dml.snapshots.publishing`.
"""

import shutil
from pathlib import Path

import pandas as pd

from dml.config import load_study
from dml.config.loading import ATTRIBUTE, record, recorded
from dml.report.claims import with_verdicts
from dml.report.loading import load

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("quickstart.parquet")


def test_each_message_has_an_interval_that_excludes_zero(tmp_path):
    study = load_study(ROOT / "pipelines/studies/quickstart.yaml")
    ran = recorded(pd.read_parquet(TABLE).attrs[ATTRIBUTE], study)  # a setting that it does not know has its default
    assert record(ran) == record(study), "the study has changed since the table was written"
    shutil.copyfile(TABLE, tmp_path / "trials.parquet")
    (results,) = with_verdicts([load(study, tmp_path)])
    assert [verdict.word for verdict in results.verdicts] == ["confirmed"] * 3, [v.claim.text for v in results.verdicts]
    assert results.missing() == {}
    for effect in (effect for verdict in results.verdicts for effect in verdict.comparison.effects):
        assert effect.low > 0
