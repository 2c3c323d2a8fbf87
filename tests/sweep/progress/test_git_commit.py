"""The commit that a summary names: dirty if code or studies changed, not if the list of chosen studies did."""

import subprocess

import pytest

from dml.sweep.progress.results import git_commit


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("dml/part.py", "pipelines/studies/a.yaml", "params.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\n")
    person = ("-c", "user.name=A tester", "-c", "user.email=tester@example.org")
    for command in (("init", "-q"), ("add", "-A"), (*person, "commit", "-q", "-m", "start")):
        subprocess.run(["git", *command], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "dirty"),
    [
        (None, False),
        ("params.yaml", False),
        ("dml/part.py", True),
        ("pipelines/studies/new.yaml", True),
        ("mine.py", True),
    ],
)
def test_dirty_means_that_code_or_studies_differ(repository, changed, dirty):
    if changed is not None:
        (repository / changed).write_text("two\n")
    found = git_commit.__wrapped__()
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert found == (f"{head}-dirty" if dirty else head)
