"""What the page says: numbers, suspects, tables; that nothing in a label or a path is HTML; and what is refused."""

import dataclasses
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from dml import audit
from dml.audit import pictures as module
from dml.audit.page import breaks

pytestmark = pytest.mark.slow


class Reader(HTMLParser):
    """Elements by their tag, with attributes; the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def words(text: str) -> str:
    """What a reader sees, in one line."""
    body = re.sub(r"(?s)<(script|style|dialog)\b.*?</\1>", " ", text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_the_page_needs_nothing_else_and_contains_no_html_of_the_data(write, bars):
    text = write(note="A note with <i>tags</i>.", title="Bars & <u>co</u>")
    reader = Reader(text)
    assert "alert(1)" in text
    assert len(reader.of("script")) == 2
    assert not [a for _, attributes in reader.found for a in attributes if a.startswith("on")]
    assert not {"b", "i", "u"} & {tag for tag, attributes in reader.found if attributes.get("src") == "x"}
    sources = [image["src"] for image in reader.of("img") if "src" in image]
    assert len(sources) > 20
    assert all(source.startswith("data:image/") for source in sources)
    assert all(image["alt"] for image in reader.of("img"))
    assert not re.search(r"""(?:href|src)=["']?(?:https?:|//|assets)""", text)
    assert "A note with <i>tags</i>." in words(text)
    data = re.search(r'(?s)<script type="application/json" id="data">(.*?)</script>', text)
    assert [look["path"] for look in json.loads(data[1])["looks"]] == [bars.paths[row] for row in bars.plan.rows]


def test_a_page_of_vectors_speaks_of_no_images(write):
    assert re.findall(r"(?i).{30}\bimages?\b.{20}", words(write(images=None))) == []


def test_a_review_gives_the_estimate(write, bars):
    wrong = bars.wrong[bars.plan.rows]
    review = pd.DataFrame({"index": bars.plan.rows, "answer": np.where(wrong, "wrong", "right")})
    review.loc[0, "answer"] = "unsure"
    estimate = audit.estimate(bars.plan, review)
    said = words(write(review=review))
    assert f"{100 * estimate.low:.0f}" in said
    assert "19 looks, 1 unsure" in said
    assert "The review is complete" in said
    seen = set(bars.plan.rows[1:]) & set(np.flatnonzero(bars.found.suspects()))
    assert seen
    assert said.count("reviewed: wrong") + said.count("reviewed: right") == len(seen)
    assert "continue the review" in words(write(review=review.head(7)))
    assert "The estimate above uses the answers for 7 of 20 labels." in words(write(review=review.head(7)))


def test_suspects_in_order_with_their_neighbours(bars):
    shown = module.suspects(bars.found, bars.vectors, lambda row: bars.paths[row], {})
    assert len(shown) == bars.found.suspects().sum()
    assert [s.row for s in shown] == sorted((s.row for s in shown), key=lambda row: -bars.found.score[row])
    for s in shown:
        assert (s.given, s.suggested) == (str(bars.labels[s.row]), str(bars.found.suggested[s.row]))
        assert len(s.near) == module.NEIGHBOURS
        assert s.row not in [near.row for near in s.near]
        assert [n.agrees for n in s.near] == [bars.labels[n.row] == bars.labels[s.row] for n in s.near]


def test_of_learned_vectors_the_neighbours_are_those_of_the_fold_and_none_is_a_near_duplicate(bars, write):
    row = int(np.argmax(bars.found.score))
    folds = np.where(np.arange(120) == row, 1, 0)
    other = bars.vectors.copy()
    other[(row + 1) % 120] = 2 * other[row]
    spaces = [np.random.default_rng(0).normal(size=other.shape), other]
    first = module.suspects(bars.found, spaces, str, {}, folds)[0]
    assert first.near[0].row == (row + 1) % 120
    assert not any(near.duplicate for near in first.near)
    assert f"image {first.near[0].row}" in write(vectors=spaces, folds=folds, paths=None)
    with pytest.raises(ValueError, match=r"vectors: expected \(120, D\), one for each image, got \(119"):
        write(vectors=[spaces[0], other[1:]], folds=folds)


def test_what_belongs_to_another_audit_is_refused(write, bars):
    with pytest.raises(ValueError, match="is not one of the audit"):
        write(plan=dataclasses.replace(bars.plan, digest="0" * 64))
    with pytest.raises(ValueError, match=r"vectors: expected \(120, D\)"):
        write(vectors=bars.vectors[:5])
    with pytest.raises(ValueError, match="paths: expected 120"):
        write(paths=bars.paths[:5])


def test_a_long_name_may_be_broken_and_is_escaped():
    assert breaks("kind_1/<2>.png") == "kind_<wbr>1/<wbr>&lt;2&gt;.png"
