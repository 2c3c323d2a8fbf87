"""`dml run` and the commands that are scripts of the pipeline."""

import pytest
import yaml


def test_run_shows_the_cost_and_runs_the_chosen_studies(dml, project, programs):
    text = (project / "pipelines/studies/tiny.yaml").read_text()
    (project / "pipelines/studies/other.yaml").write_text(text)
    done = dml("run", "other")
    assert done.code == 0
    assert yaml.safe_load((project / "params.yaml").read_text()) == {"studies": ["other"]}
    assert done.out.startswith("other: 2 cells, 4 trials (0 to tune, 4 to confirm)")
    assert programs == [("-m", "dvc", "repro")]
    assert f"file://{project}/report/index.html" in done.out


def test_run_without_a_name_runs_what_was_chosen_before(dml, project, programs):
    assert dml("run").out.startswith("tiny: 2 cells")
    assert programs == [("-m", "dvc", "repro")]
    assert (project / "params.yaml").read_text() == "# a comment\nstudies:\n- tiny\n"


def test_an_unknown_study_starts_nothing(dml, project, programs):
    assert dml("run", "tinny").code == 1
    assert programs == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["report"], ("pipelines/report.py",)),
        (["publish", "tiny"], ("pipelines/publish.py", "tiny")),
        (["why", "tiny"], ("pipelines/why.py", "tiny")),
    ],
)
def test_scripts_of_the_pipeline(dml, project, programs, arguments, expected):
    assert dml(*arguments).code == 0
    assert programs == [expected]
