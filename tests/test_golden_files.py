"""The golden files: they name the part whose numbers changed without a raised version."""

import pytest
import torch


class Part:
    """A part that computes `factor` times its input."""

    version = 1
    factor = 2.0

    def __init__(self, margin: float = 0.2, swap: bool = False):
        self.margin = margin

    @classmethod
    def values(cls) -> dict:
        return {"output": cls.factor * torch.arange(3, dtype=torch.float64), "chosen": [1, 2], "name": "x"}


@pytest.fixture
def check(golden, tmp_path):
    """Compare a part with a folder of golden files."""

    def compare(part: type, update: bool = False) -> None:
        type(golden)(update, tmp_path).check("losses", "part", part, part.values())

    return compare


@pytest.fixture
def pinned(check, tmp_path):
    check(Part, update=True)
    return tmp_path / "losses" / "part.json"


def test_rounding_passes_and_a_changed_number_does_not(check, pinned):
    check(type("Part", (Part,), {"factor": 2.0 + 1e-12}))
    changed = type("Part", (Part,), {"factor": 2.0 + 1e-6})
    for update in (False, True):  # an update does not hide a change
        with pytest.raises(
            pytest.fail.Exception, match=r"(?s)losses part .*version 1.*output\[1\].*raise `version`"
        ) as e:
            check(changed, update=update)
        assert "test_golden_files" in str(e.value)


@pytest.mark.parametrize("values", [{"chosen": [1, 3]}, {"chosen": [1]}, {"name": "y"}, {"more": 1}])
def test_other_integers_strings_and_shapes_do_not_pass(check, pinned, values):
    changed = type("Part", (Part,), {"values": classmethod(lambda cls: {**Part.values(), **values})})
    with pytest.raises(pytest.fail.Exception, match="raise `version`"):
        check(changed)


def test_a_changed_default_does_not_pass_and_a_new_setting_does(check, pinned):
    class Changed(Part):
        def __init__(self, margin: float = 0.3, swap: bool = False):
            pass

    class Renamed(Part):
        def __init__(self, gap: float = 0.2, swap: bool = False):
            pass

    class Extended(Part):
        def __init__(self, margin: float = 0.2, swap: bool = False, new: int = 3):
            pass

    for other in (Changed, Renamed):
        with pytest.raises(pytest.fail.Exception, match=r"default of 'margin'"):
            check(other)
    check(Extended)


def test_a_raised_version_passes_once_its_file_is_written(check, pinned):
    raised = type("Part", (Part,), {"factor": 3.0, "version": 2})
    with pytest.raises(pytest.fail.Exception, match="version 2, not 1"):
        check(raised)
    check(raised, update=True)
    check(raised)
    with pytest.raises(pytest.fail.Exception, match="version 1, not 2"):
        check(Part)
