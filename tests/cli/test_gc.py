"""`dml gc`: what is listed is removed only on confirmation."""

import sys
from types import SimpleNamespace

import pytest

from dml.sweep.disk import Unreferenced


@pytest.fixture
def disk(project, monkeypatch):
    """A project with two unreferenced folders; `removed` has those that were removed."""
    removed: list[Unreferenced] = []
    found = [
        Unreferenced(project / "store/trials/aa", 2_048, 90_000.0, "no study has this trial"),
        Unreferenced(project / "store/packed/old", 3 * 2**20, 60.0, "no study has this dataset"),
    ]
    asked = []

    def unreferenced(root):
        asked.append(root)
        return found

    def remove(entries):
        removed.extend(entries)
        return sum(entry.bytes for entry in entries)

    fake = SimpleNamespace(unreferenced=unreferenced, remove=remove)
    monkeypatch.setitem(sys.modules, "dml.sweep.disk", fake)
    return SimpleNamespace(found=found, removed=removed, asked=asked)


def test_it_lists_the_largest_first_and_removes_nothing_unless_confirmed(dml, project, disk):
    done = dml("gc", answer="n\n")
    assert done.code == 1
    assert disk.asked == [project]
    lines = done.out.splitlines()
    assert lines[0].split()[:2] == ["3", "MB"]
    assert "store/packed/old" in lines[0]
    assert "25 h old" in lines[1]
    assert "no study has this trial" in lines[1]
    assert "Remove these 2 (3 MB)?" in done.out
    assert disk.removed == []


@pytest.mark.parametrize(("options", "answer"), [((), "y\n"), (("--yes",), None)])
def test_it_removes_what_it_listed_on_confirmation(dml, disk, options, answer):
    done = dml("gc", *options, answer=answer)
    assert done.code == 0
    assert {entry.path for entry in disk.removed} == {entry.path for entry in disk.found}
    assert done.out.endswith("3 MB freed\n")


def test_what_a_study_refers_to_since_it_was_listed_stays(dml, disk, monkeypatch):
    """A sweep may begin while somebody reads the list."""
    first, later = disk.found
    monkeypatch.setattr(sys.modules["dml.sweep.disk"], "unreferenced", lambda root: found.pop())
    found = [[later], [first, later]]
    done = dml("gc", answer="y\n")
    assert "Remove these 2" in done.out
    assert disk.removed == [later]
