"""The spelling of score keys, which columns on disk and keys in YAML have."""

import pytest

from dml.types import ScoreKey


@pytest.mark.parametrize(
    ("text", "stem", "number"),
    [
        ("test/fine/recall@1", "recall", 1),
        ("seen/coarse/nmi@30", "nmi", 30),
        ("test/given/map@r", "map", None),
        ("validation/fine/nmi+", "nmi+", None),
        ("test/fine/mine.of/two", "mine.of/two", None),
    ],
)
def test_a_key_is_spelt_as_it_was_read(text, stem, number):
    key = ScoreKey.parse(text)
    assert str(key) == f"{key}" == text
    assert (key.stem, key.number) == (stem, number)
    assert text == f"{key.group}/{key.metric}"
    assert ScoreKey.is_spelt(text)
