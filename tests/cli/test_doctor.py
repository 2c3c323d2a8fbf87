"""`dml doctor`: what is missing is named with its remedy, and decides the exit code."""

import http.server
import importlib.metadata
import subprocess
import threading

import pytest


@pytest.fixture
def repository(project):
    """The project as a git and DVC repository."""
    subprocess.run(["git", "init", "-q"], check=True)
    (project / ".dvc").mkdir()
    return project


@pytest.fixture
def server():
    """An HTTP server that answers `/health`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


@pytest.fixture(autouse=True)
def requirements(monkeypatch):
    """What dml requires, whichever version of it is installed."""
    required = ["numpy>=1", 'ray[tune]>=2; extra == "pipeline"', 'nothing-like-it>=2; extra == "dev"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: required)
    return required


def lines(done):
    return {line.split()[1]: line for line in done.out.splitlines() if line.startswith(("ok", "missing", "absent"))}


def test_a_machine_with_everything(dml, repository):
    done = dml("doctor")
    assert done.code == 0
    assert set(lines(done)) == {"Python", "packages", "GPU", "project", "DVC", "disk", "memory"}
    assert "numpy " in lines(done)["packages"]
    assert "ray " in lines(done)["packages"]
    assert str(repository) in lines(done)["project"]
    assert done.out.endswith("everything that studies need is here\n")


def test_missing_and_old_packages_are_named_with_what_to_run(dml, repository, requirements):
    requirements += ["nothing-like-it>=2", "pandas>=99"]
    done = dml("doctor")
    assert done.code == 1
    line = lines(done)["packages"]
    assert line.startswith("missing")
    assert "nothing-like-it (missing, expected >=2)" in line
    assert f"pandas ({importlib.metadata.version('pandas')}, expected >=99)" in line
    assert "numpy" not in line
    assert '-> pip install --upgrade "noisy-dml[pipeline]"' in done.out
    assert done.out.endswith("1 missing\n")
