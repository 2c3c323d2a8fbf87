"""Omniglot: PNG files by alphabet and character."""

import pandas as pd
from small_archives import Row, Small, encoded, zipped

from dml.data import sources


def make(folder):
    rows, fine, coarse = [], -1, -1
    sets = {"background": {"Greek": 2, "Latin": 1}, "evaluation": {"Angelic": 2}}
    for part, alphabets in sets.items():
        members = {f"images_{part}/": b""}
        for alphabet, characters in alphabets.items():
            coarse += 1
            for character in range(1, characters + 1):
                fine += 1
                for drawing in (1, 2):
                    ink = drawing % 2
                    name = f"images_{part}/{alphabet}/character{character:02d}/{fine:04d}_{drawing:02d}.png"
                    members[name] = encoded(ink, "PNG", (105, 105), "1")
                    role = "train" if part == "background" else "test"
                    rows.append(Row(fine, coarse, part, role, 255 * ink))
        zipped(folder / f"images_{part}.zip", members)
    return Small({}, rows, channels=1)


def test_fewer_alphabets_leave_the_rest_unused():
    index = pd.DataFrame({"part": ["background"] * 4 + ["evaluation"], "coarse": [0, 1, 2, 29, 30]})
    assert list(sources.build("omniglot", alphabets=2).roles(index)) == ["train", "train", "unused", "unused", "test"]
    assert list(sources.build("omniglot").roles(index)) == ["train"] * 4 + ["test"]
