"""`dml search`: the nearest images by a plain loop, on a page that needs no other file."""

import base64
import io
import re
from pathlib import Path

import numpy as np
from PIL import Image

from dml.cli.models import Embedded
from dml.cli.search_page import nearest


def test_the_nearest_are_those_of_a_plain_loop_without_the_query_itself():
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(30, 4)).astype(np.float32)
    vectors[7] = vectors[20]  # a tie
    gallery = Embedded([Path(f"/g/{row}.png") for row in range(30)], vectors)
    asked = [20, 3]
    queries = Embedded([gallery.paths[20], Path("/elsewhere/3.png")], vectors[asked])
    found = nearest(queries, gallery, 6)
    for one, row, own in zip(found, asked, (20, None), strict=True):
        pairs = [(float(np.linalg.norm(vectors[row].astype(float) - v)), i) for i, v in enumerate(vectors) if i != own]
        expected = sorted(pairs)[:6]
        assert [neighbour.path.stem for neighbour in one.neighbours] == [str(i) for _, i in expected]
        np.testing.assert_allclose([neighbour.distance for neighbour in one.neighbours], [d for d, _ in expected])
    assert found[0].neighbours[0].path.stem == "7"
    assert found[1].neighbours[0].distance == 0.0


def test_the_page_contains_all_that_it_shows(dml, model, photos, tmp_path):
    query, out = photos / "kind2/3.png", tmp_path / "page.html"
    done = dml("search", model, photos, query, "-o", out, "-k", 4)
    assert done.code == 0, done.err
    assert out.as_uri() in done.out
    page = out.read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == 5
    for source in sources:
        kind, _, content = source.partition(",")
        assert kind == "data:image/jpeg;base64"
        assert max(Image.open(io.BytesIO(base64.b64decode(content))).size) <= 160
    assert not re.search(r'(?:href|src)="(?!data:)', page)
    assert "http" not in page
    assert "kind2/3.png</h2>" in page
    assert page.count("distance 0.") + page.count("distance 1.") == 4


def test_the_page_is_not_written_over_a_file_of_the_user(dml, model, photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    query = tmp_path / "query.png"
    query.write_bytes((photos / "kind2/3.png").read_bytes())
    Path("search.html").write_text("<title>mine</title>")
    for more in (["-o", query], []):
        done = dml("search", model, photos, query, *more)
        assert done.code == 2
        assert "is not a page of dml search" in done.err
    assert query.read_bytes() == (photos / "kind2/3.png").read_bytes()
    Path("search.html").unlink()
    for _ in range(2):
        assert dml("search", model, photos, query).code == 0
