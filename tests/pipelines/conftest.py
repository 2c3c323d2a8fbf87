"""A copy of the project without `dml` and without anything that was computed, where stages run as a user runs them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
IGNORED = shutil.ignore_patterns("__pycache__")
NOWHERE = "http://127.0.0.1:9"  # the port of `discard`: nothing answers
TINY = """\
title: A study of seconds
datasets:
  - name: digits
    train_on: coarse
noise:
  - {name: uniform, rates: [0.2]}
losses: [triplet]
positives: [random, easy]
negatives: [random]
seeds: [0]
search: {sampler: fixed}
resources: {concurrent: 1}
training: {backbone: mlp, embedding_size: 4, steps: 3, batch: {classes: 2, per_class: 4}}
evaluation: {metrics: [recall@1, map@r]}
"""


class Project:
    """A project in a folder of its own. No stage reaches a network: each proxy is a port where nothing answers."""

    def __init__(self, root: Path, request: pytest.FixtureRequest):
        self.root, self._fixture = root, request.getfixturevalue
        shutil.copytree(ROOT / "pipelines", root / "pipelines", ignore=IGNORED)
        (root / "papers/none").mkdir(parents=True)  # each report computes the theory of the papers that there are
        (root / "papers/none/paper.yaml").write_text("title: No claims\nyear: 2026\n")
        (root / "papers/__init__.py").touch()
        for name in ("params.yaml", "dvc.yaml", ".dvcignore", ".gitignore", "pyproject.toml"):
            shutil.copy(ROOT / name, root / name)
        (root / "docs/results").mkdir(parents=True)  # nothing is published
        (root / ".dvc").mkdir()
        for name in ("config", ".gitignore"):
            shutil.copy(ROOT / ".dvc" / name, root / ".dvc" / name)
        clean = {k: v for k, v in os.environ.items() if k not in ("DML_MIRROR", "MLFLOW_TRACKING_URI")}
        proxies = {f"{scheme}_proxy": NOWHERE for scheme in ("http", "https")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
        self.environment = {**clean, **proxies, "no_proxy": "localhost,127.0.0.1", "PATH": path, "OMP_NUM_THREADS": "1"}
        self.environment["DML_TRACKING"] = "off"  # MLflow takes seconds of each sweep

    def study(self, name: str, text: str = TINY) -> None:
        """Write a study."""
        (self.root / "pipelines/studies" / f"{name}.yaml").write_text(text, encoding="utf-8")

    def track(self) -> None:
        """Track the project's sweeps in MLflow, beginning with an empty database."""
        self.environment["DML_TRACKING"] = "on"
        shutil.copy(self._fixture("empty_database"), self.root / "mlflow.db")

    def run(self, *command: str, timeout: float = 300, **environment: str) -> SimpleNamespace:
        """Run a command in the project: `code`, and `text`, all that it printed."""
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )
        return SimpleNamespace(code=done.returncode, text=done.stdout)

    def stage(self, name: str, *arguments: str, **environment: str) -> SimpleNamespace:
        """Run a stage in a process as DVC's, forked from one that has imported what it needs, with one Ray for all."""
        variables = {**self.environment, **environment}
        if name in ("features", "audit", "sweep"):
            variables["RAY_ADDRESS"] = self._fixture("ray_address")
        done = self._fixture("forks").start([f"pipelines/{name}.py", *arguments], self.root, variables)
        text, _ = done.communicate(300)
        return SimpleNamespace(code=done.returncode, text=text)

    def stages(self, names: str, study: str, **environment: str) -> None:
        """Run stages that must succeed."""
        for name in names.split():
            done = self.stage(name, study, **environment)
            assert done.code == 0, done.text


@pytest.fixture
def project(tmp_path, request):
    return Project(tmp_path, request)


@pytest.fixture(scope="session")
def mirror():
    """The folder with the real archives, where there is one."""
    for place in (os.environ.get("DML_MIRROR", ""), ROOT.parent / "shared" / "data"):
        if place and (Path(place) / "omniglot/images_background.zip").is_file():
            return str(Path(place).resolve())
    pytest.skip("the archives of MNIST and Omniglot are not here: set DML_MIRROR")


def refused(done: SimpleNamespace) -> str:
    """The one message of a stage that a user's mistake stopped."""
    assert done.code == 1, done.text
    assert "Traceback" not in done.text
    assert done.text.count("error: ") == 1
    return done.text.partition("error: ")[2]


@pytest.fixture(name="refused")
def _refused():
    return refused


@pytest.fixture(scope="session")
def tiny():
    return TINY


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory, request):
    return Project(tmp_path_factory.mktemp("project"), request)
