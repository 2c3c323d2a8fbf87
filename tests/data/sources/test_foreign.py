"""Sources of other packages: any class with the members of the protocol works, others are named errors."""

import sys
import types

import numpy as np
import pytest

from dml.data import sources
from dml.discovery import members
from dml.protocols import Source


class Complete:
    """Everything that the protocol lists, without a base class."""

    version, name, levels = 3, "complete", ("fine",)
    options, disjoint, archives, complete, counts, content, root = {}, "fine", (), True, {}, None, None

    def download(self, raw, report=print):
        report("nothing to download")

    def fingerprint(self, raw):
        return None

    def images(self, raw):
        yield {"image": np.zeros((4, 4), np.uint8), "fine": 0, "path": "0"}

    def roles(self, index):
        return np.full(len(index), "train")


@pytest.fixture
def package(monkeypatch):
    """A package `elsewhere` with the classes it is given."""

    def give(**classes):
        module = types.ModuleType("elsewhere")
        vars(module).update(classes)
        monkeypatch.setitem(sys.modules, "elsewhere", module)

    return give


def test_a_class_with_all_members_needs_no_base(package):
    package(Complete=Complete)
    assert sources.find("elsewhere.Complete") is Complete
    assert isinstance(sources.build("elsewhere.Complete"), Complete)


@pytest.mark.parametrize("member", members(Source))
def test_a_missing_member_is_named(member, package):
    kept = {key: value for key, value in vars(Complete).items() if key != member and not key.startswith("__")}
    package(Partial=type("Partial", (), kept))
    with pytest.raises(ValueError, match=rf"source 'elsewhere.Partial' lacks {member}, .*dml\.protocols\.Source"):
        sources.build("elsewhere.Partial")
