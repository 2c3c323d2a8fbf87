"""Finding parts by name, and the errors of a wrong name or setting."""

import pytest

from dml import discovery
from dml.models.small_conv import SmallConv


def test_a_part_is_found_by_its_files_name():
    assert discovery.find("dml.models", "small_conv") is SmallConv
    assert "small_conv" in discovery.names("dml.models")


def test_a_file_without_the_class_is_no_part():
    assert "_network" not in discovery.names("dml.models")


def test_an_unknown_name_lists_the_choices_and_the_nearest():
    with pytest.raises(ValueError, match=r"unknown name 'smal_conv'; did you mean 'small_conv'\?.*mlp"):
        discovery.find("dml.models", "smal_conv")


def test_a_dotted_path_names_a_part_of_another_package():
    assert discovery.find("dml.losses", "collections.OrderedDict").__name__ == "OrderedDict"


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
