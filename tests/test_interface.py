"""The public interface: parts by class and by name, loaded on first use, and visible to a type checker."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dml
from dml import discovery

ROOT = Path(__file__).parents[1]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_dml_loads_nothing_heavy_and_takes_less_than_a_tenth_of_a_second():
    code = (
        "import sys, time; t = time.perf_counter(); import dml; s = time.perf_counter() - t; "
        "print(s, *({'torch', 'numpy', 'pandas', 'ray', 'mlflow'} & set(sys.modules)))"
    )
    seconds, *heavy = min((run(code).split() for _ in range(3)), key=lambda line: float(line[0]))
    assert not heavy
    assert float(seconds) < 0.1


@pytest.mark.slow
def test_reading_a_study_leaves_torchvision_out():
    """Importing it takes more than a second; the second study's backbone is one of its networks."""
    paths = [str(ROOT / f"pipelines/studies/{study}.yaml") for study in ("quickstart", "flowers-frozen")]
    code = (
        f"import sys\nfrom dml.config import load_study\nfor path in {paths!r}:\n"
        "    load_study(path)\n    assert 'torchvision' not in sys.modules, path"
    )
    run(code)


@pytest.mark.slow
def test_a_worker_imports_torch_only_with_its_first_trial():
    """torch takes longer to import than all else that a worker needs before it has a trial."""
    heavy = "{'torch', 'optuna', 'dml.config'}"
    assert run(f"import sys, dml.sweep.execution.trial; print(*({heavy} & set(sys.modules)))") == ""


@pytest.mark.slow
def test_import_dml_is_enough_for_every_kind_of_part():
    """For each by itself: a kind may import another one. Libraries stay imported, which takes seconds."""
    code = (
        f"import sys\nfor package in {discovery.KINDS!r}:\n"
        "    for name in [name for name in sys.modules if name.partition('.')[0] == 'dml']:\n"
        "        del sys.modules[name]\n"
        "    import dml\n"
        "    found = eval(package)\n"
        "    assert found.__name__ == package and found.build"
    )
    run(code)


def test_policies_and_metrics_are_built_by_their_names_in_a_study():
    assert dml.miners.positives.build("semihard").version
    assert dml.miners.negatives.build("semihard_random", margin=0.3).margin == 0.3
    assert dml.evaluation.metrics.build("recall@5").k == 5
    assert dml.evaluation.metrics.build("nmi", average="geometric").average == "geometric"
    with pytest.raises(ValueError, match=r"unknown metric 'recal@5'.*Choices: .*map@r"):
        dml.evaluation.metrics.build("recal@5")
    with pytest.raises(ValueError, match="unknown setting 'margn'; did you mean 'margin'"):
        dml.miners.negatives.build("semihard_random", margn=0.3)


@pytest.mark.parametrize("package", discovery.KINDS)
def test_each_part_is_an_attribute_of_its_package(package):
    module = importlib.import_module(package)
    for name in discovery.names(package):
        attribute = discovery.class_name(name)
        assert getattr(module, attribute) is discovery.find(package, name)
        assert attribute in dir(module)
    with pytest.raises(AttributeError, match="NoSuchPart"):
        module.NoSuchPart  # noqa: B018


@pytest.mark.parametrize("package", discovery.KINDS)
def test_the_type_stubs_are_up_to_date(package):
    path = Path(importlib.import_module(package).__path__[0]) / "__init__.pyi"
    assert path.is_file(), "run `make stubs`"
    assert path.read_text(encoding="utf-8") == discovery.stub(package), "run `make stubs`"


SHOWN = ("dml.losses", "dml.filters", "dml.noise", "dml.miners.positives", "dml.miners.negatives")


@pytest.mark.parametrize(("package", "name"), [(each, name) for each in SHOWN for name in discovery.names(each)])
def test_a_part_shows_the_settings_that_it_was_built_with(package, name):
    part, needed = discovery.find(package, name), {"num_classes": 3, "embedding_size": 4, "rate": 0.25, "path": "x.csv"}
    settings = {key: needed[key] for key in discovery.settings_of(part) if key in needed}
    shown = repr(part(**settings))
    assert all(f"{key}={settings.get(key, '')}".replace("=x", "='x") in shown for key in discovery.settings_of(part))
    assert repr(eval(shown, {part.__name__: part})) == shown


def test_a_miner_shows_both_policies_and_its_own_settings():
    mine = dml.miners.build(positives="easy", negatives="semihard_random", margin=0.3, padded=True)
    assert all(text in repr(mine) for text in ("Easy()", "SemihardRandom(margin=0.3,", "padded=True"))
