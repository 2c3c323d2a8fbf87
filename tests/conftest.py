"""What all tests share: golden files, which pin the numbers of every part, and what is in `servers` and `shared`."""

import importlib
import inspect
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, chdir, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

GOLDEN = Path(__file__).parent / "golden"
REPOSITORY = Path(__file__).parents[1]
MARKED = r"^pytestmark = (?:\[[^\]]*?)?pytest\.mark\.{}\b"  # a file as a whole
sys.path[:0] = [str(Path(__file__).parent / folder) for folder in ("servers", "shared")]
os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"  # a server's eight processes for jobs take 12 s to import
os.environ["RAY_AUTH_MODE"] = "disabled"  # by itself a process that starts Ray asks for a token from then on


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-update",
        action="store_true",
        help="write the golden files of new parts and of parts whose version was raised",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "minutes: needs a browser, a wheel, notebooks, a database server, DVC or minutes (make test-slow)"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that a mark leaves out as a whole are not even imported."""
    wanted = config.option.markexpr
    if wanted not in ("not slow", "not minutes", "minutes") or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    if wanted == "minutes":
        return True if "pytest.mark.minutes" not in text else None
    return True if re.search(MARKED.format(wanted.removeprefix("not ")), text, re.MULTILINE) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that no worker ends with one of them while the others have nothing to do."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def results_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The site's page of results, as Markdown: half a minute of computing, which one worker does for all."""
    from dml.files import locked, write_text
    from dml.pipeline.publish import results_page  # tests without the extra `pipeline` have none

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", os.getpid())
    page = tmp_path_factory.getbasetemp().parent / f"results-{run}.md"
    with locked(page.with_suffix(".lock")), chdir(REPOSITORY):
        if not page.exists():
            write_text(page, results_page())
    return page.read_text(encoding="utf-8")


class Golden:
    """Compares what a part computes with `tests/golden/<kind>/<name>.json`."""

    def __init__(self, update: bool, folder: Path = GOLDEN):
        self._update, self._folder = update, folder

    def check(
        self,
        kind: str,
        name: str,
        part: Any,
        values: Mapping[str, Any],
        defaults: Mapping[str, Any] | None = None,
        rtol: float = 1e-9,
        atol: float = 1e-12,
    ) -> None:
        """Compare."""
        if defaults is None:
            from dml.discovery import defaults_of

            defaults = defaults_of(part if isinstance(part, type) else type(part))
        path = self._folder / kind / f"{name}.json"
        now = {"version": part.version, "defaults": _plain(defaults), "values": _plain(values)}
        then = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        where = _file_of(part)
        if then is None or then["version"] != now["version"]:
            if not self._update:
                state = "has no golden file" if then is None else f"has version {now['version']}, not {then['version']}"
                pytest.fail(
                    f"{kind} {name} ({where}) {state}: run `pytest --golden-update -k {name} tests` and commit the file"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
            return
        changed = [
            f"default of {setting!r}: {now['defaults'].get(setting, 'gone')!r}, was {value!r}"
            for setting, value in then["defaults"].items()
            if setting not in now["defaults"] or now["defaults"][setting] != value
        ]
        changed += list(_differences("", now["values"], then["values"], rtol, atol))
        if changed:
            shown = "\n  ".join(changed[:8])
            pytest.fail(
                f"{kind} {name} computes other numbers than its version {then['version']} did:\n  {shown}\n"
                f"If that is meant, raise `version` in {where} and run `pytest --golden-update`."
            )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, torch.Tensor):
        return _plain(value.detach().cpu().tolist())
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _differences(place: str, now: Any, then: Any, rtol: float, atol: float) -> Iterator[str]:
    if isinstance(now, dict) and isinstance(then, dict):
        for key in {**now, **then}:
            missing = "missing"
            yield from _differences(f"{place}.{key}", now.get(key, missing), then.get(key, missing), rtol, atol)
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        for index, (a, b) in enumerate(zip(now, then, strict=True)):
            yield from _differences(f"{place}[{index}]", a, b, rtol, atol)
    elif isinstance(now, float) and isinstance(then, float | int) and not isinstance(then, bool):
        if not math.isclose(now, then, rel_tol=rtol, abs_tol=atol):
            yield f"{place.lstrip('.')}: {now!r}, was {then!r}"
    elif now != then:
        yield f"{place.lstrip('.')}: {now!r}, was {then!r}"


def _file_of(part: Any) -> str:
    module = (
        part
        if inspect.ismodule(part)
        else importlib.import_module((part if isinstance(part, type) else type(part)).__module__)
    )
    path = Path(module.__file__ or "")
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Python's path, MLflow's backend and torch's threads are as before: two threads take up to eight times as long."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    threads = torch.get_num_threads()
    yield
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    if "mlflow" in sys.modules:
        sys.modules["mlflow"].set_tracking_uri(None)


@contextmanager
def _without_waiting() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says once in a process that the mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.fixture
def without_waiting() -> Callable[[], AbstractContextManager[None]]:
    """A context in which an operation that waits for the GPU is an error."""
    return _without_waiting


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The comparison with the golden files; `pytest --golden-update` writes those that may be written."""
    return Golden(request.config.getoption("--golden-update"))


@pytest.fixture(scope="session")
def _storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from object_storage import ObjectStorage

    server = ObjectStorage(tmp_path_factory.mktemp("s3"))
    yield server
    server.kill()


@pytest.fixture(scope="module")
def object_storage(_storage: Any) -> Any:
    """A running S3-compatible server, one for all tests: each takes a bucket of its own, and may kill it."""
    _storage.start()
    return _storage


@pytest.fixture(scope="session")
def forks() -> Iterator[Any]:
    """Starts Python programs that need not import `dml` and its libraries: a server that has them forks for each."""
    from forks import Forks

    server = Forks()
    yield server
    server.end()


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with MLflow's tables to copy: MLflow takes seconds to create them."""
    import mlflow

    path = tmp_path_factory.mktemp("mlflow") / "empty.db"
    mlflow.MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture(scope="module")
def ray_address() -> Iterator[str]:
    """A Ray cluster of two processors, shared by a file's tests whose subject is not how Ray starts or ends."""
    with pytest.MonkeyPatch.context() as patch:
        from dml.sweep.execution.cluster import QUIET

        for name, value in QUIET.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 10**8}
        head |= {"include_log_monitor": False, "no_monitor": True}  # a third of what a cluster takes to start
        cluster = Cluster(initialize_head=True, head_node_args=head)
    yield cluster.address
    cluster.shutdown()
