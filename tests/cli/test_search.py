"""`dml search`: the nearest images by a plain loop, on a page that needs no other file."""

from pathlib import Path

import numpy as np

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
