"""Finding parts by name, and the errors of a wrong name or setting."""

import importlib
from collections.abc import Sequence

import pytest

import dml
from dml import discovery
from dml.models.small import SmallConv


def test_a_part_is_found_by_its_files_name():
    assert discovery.find("dml.models", "small_conv") is SmallConv
    assert "small_conv" in discovery.names("dml.models")


def test_an_unknown_name_lists_the_choices_and_the_nearest():
    with pytest.raises(ValueError, match=r"unknown name 'smal_conv'; did you mean 'small_conv'\?.*mlp"):
        discovery.find("dml.models", "smal_conv")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_package.Thing", "cannot be imported"),
        ("collections.NoSuchThing", "cannot be imported"),
        ("os.getcwd", "expected a class"),
        ("..losses.Triplet", "cannot be imported"),
    ],
)
def test_a_dotted_path_that_leads_nowhere_is_an_error(path, message):
    with pytest.raises(ValueError, match=message):
        discovery.find("dml.losses", path)


def test_a_misspelt_setting_is_an_error_with_the_choices():
    with pytest.raises(ValueError, match=r"unknown setting 'widht'; did you mean 'width'\?"):
        discovery.build("dml.models", "small_conv", widht=3)


def _added(tmp_path, monkeypatch, name, text):
    """A file beside the losses, for this test only."""
    package = importlib.import_module("dml.losses")
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])


def test_a_file_whose_class_has_another_name_says_which_is_expected(tmp_path, monkeypatch):
    _added(tmp_path, monkeypatch, "another_name", "class Anothername:\n    version = 1\n")
    with pytest.raises(ValueError, match=r"dml/losses/another_name\.py has no class AnotherName.*Choices: .*triplet"):
        discovery.find("dml.losses", "another_name")


@pytest.mark.parametrize("version", ["", "version = '1'"])
def test_a_part_without_a_version_says_so(tmp_path, monkeypatch, version):
    name = f"unversioned{len(version)}"
    _added(tmp_path, monkeypatch, name, f"class {name.capitalize()}:\n    margin = 1\n    {version}\n")
    with pytest.raises(ValueError, match=rf"losses '{name}': expected an integer `version` in the class Unversioned"):
        discovery.find("dml.losses", name)


def test_a_loss_of_dml_that_lacks_members_names_them(tmp_path, monkeypatch):
    _added(tmp_path, monkeypatch, "incomplete", "class Incomplete:\n    version = 1\n    stats = {}\n")
    with pytest.raises(ValueError, match=r"loss 'incomplete' lacks load_state_dict, mining, .*dml\.protocols\.Loss"):
        dml.losses.build("incomplete")


class Typed:
    def __init__(
        self, share: float, k: int | None = None, names: Sequence[str] | None = None, on: bool = False, name: str = ""
    ):
        self.share = share + 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": "0.5"}, "share: expected a number, got '0.5'"),
        ({"share": True}, "share: expected a number, got True"),
        ({"share": 1, "k": 2.5}, "k: expected a whole number or null, got 2.5"),
        ({"share": 1, "names": "train"}, "names: expected a list or null, got 'train'"),
        ({"share": 1, "on": 1}, "on: expected true or false, got 1"),
        ({"share": 1, "name": 2024}, r"name: expected text, got 2024 \(text has quotes\)"),
    ],
)
def test_a_value_of_another_type_than_its_setting_is_an_error(settings, message):
    with pytest.raises(ValueError, match=rf"Typed': {message}$"):
        discovery.build("dml.losses", f"{__name__}.Typed", **settings)
