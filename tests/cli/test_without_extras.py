"""`dml` where only the library is installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("package", ["typer"])
def test_without_the_extra_the_command_says_what_to_install(package):
    code = f"import sys; sys.modules[{package!r}] = None; from dml.__main__ import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: the command line needs the package {package}, which is not installed here.")
    assert 'pip install "noisy-dml[pipeline]"' in done.stderr
    assert "Traceback" not in done.stderr
