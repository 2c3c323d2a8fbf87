"""Audits of made images, whose names and classes are hostile where it matters."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from dml import audit
from dml.audit.page import write_page

HOSTILE = ("</script><script>alert(1)</script>", 'a "quoted", label', "=1+1", "<b>bold</b> & co", "NA")


def made(names=HOSTILE, n: int = 120, wrong: int = 24, side: int = 12, seed: int = 0) -> SimpleNamespace:
    """Images that are a bright bar each, whose place is their true class; `wrong` of the labels are not."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % len(names)
    images = rng.integers(0, 40, (n, side, side, 1), dtype=np.uint8)
    for row, place in enumerate(true):
        images[row, 2 * place : 2 * place + 2] += 200
    given = true.copy()
    given[rng.permutation(n)[:wrong]] += 1
    labels = np.array(names)[given % len(names)]
    vectors = images.reshape(n, -1).astype(np.float32)
    return SimpleNamespace(images=images, vectors=vectors, labels=labels, wrong=given != true)


@pytest.fixture(scope="session")
def bars() -> SimpleNamespace:
    """Made images with an audit of them, a plan of 20 looks, and hostile paths."""
    out = made()
    out.found = audit.audit(out.vectors, out.labels, folds=3, neighbours=10)
    out.plan = audit.review_plan(out.found, 20)
    out.paths = [f'{i:03}/<img src=x onerror="alert(1)">,"{i}".png' for i in range(len(out.labels))]
    return out


@pytest.fixture
def write(tmp_path, bars) -> Callable[..., str]:
    """Write the page of `bars`, with some arguments changed, and return its text."""

    def run(**changed) -> str:
        known = {
            "title": "Bars",
            "vectors": bars.vectors,
            "images": lambda rows: bars.images[rows],
            "paths": bars.paths,
        }
        arguments = {**known, **changed}
        path = tmp_path / "audit" / "page.html"
        write_page(path, arguments.pop("found", bars.found), arguments.pop("plan", bars.plan), **arguments)
        return path.read_text(encoding="utf-8")

    return run
