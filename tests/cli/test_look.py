"""`dml look` and `dml search`: known wrong labels, scores by a plain loop, and what cannot be judged."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml.cli.look import best_words, sentence
from dml.cli.models import Embedded
from dml.cli.search_page import nearest
from dml.training.free import Candidate, Free, Look
from dml.training.frozen.extraction import extract
from dml.training.frozen.opening import open_features
from dml.types import TrainingSpec

CLASSES, ROWS, SIZE = 12, 360, 16


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def vectors(tmp_path):
    """Vectors of 12 classes with texts: (x, labels as given, which are wrong)."""
    draw = np.random.default_rng(0)
    right = np.repeat(np.arange(CLASSES), ROWS // CLASSES)
    wide = np.where(np.arange(SIZE) < 4, 5.0, 0.6)  # the first directions tell nothing
    x = (draw.normal(size=(CLASSES, SIZE))[right] + 0.6 * draw.normal(size=(ROWS, SIZE)) * wide).astype(np.float32)
    wrong = draw.random(ROWS) < 0.12
    given = np.where(wrong, (right + draw.integers(1, CLASSES, ROWS)) % CLASSES, right)
    np.save(tmp_path / "v.npy", x)
    table = {"text": [f"sentence {row}, <b>" for row in range(ROWS)], "fine": [f"c{label:02d}" for label in given]}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    return x, given, wrong


@pytest.fixture
def pictures(tmp_path):
    """Grey patterns of 5 classes of 10, one in a wrong folder, one copied to another class, and one cut off."""
    draw, folder = np.random.default_rng(1), tmp_path / "pictures"
    for label in range(5):
        pattern = draw.integers(0, 256, (24, 24))
        for row in range(10):
            place = folder / f"kind{(label + (row == 9 and label == 0)) % 5}"
            place.mkdir(parents=True, exist_ok=True)
            noisy = np.clip(pattern + draw.normal(size=(24, 24)) * 25, 0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(place / f"{label}-{row}.png")
    (folder / "kind4/4-5.png").rename(tmp_path / "query.png")
    (folder / "kind4/copy.png").write_bytes((folder / "kind3/3-0.png").read_bytes())
    (folder / "kind2/broken.png").write_bytes((folder / "kind2/2-0.png").read_bytes()[:300])
    (folder / "kind2/notes.txt").write_text("mine")
    return folder


def test_the_sentence_has_the_numbers_of_a_plain_loop_and_suspects_are_wrong_labels(dml, vectors, tmp_path):
    x, given, wrong = vectors
    done = dml("look", "v.npy", "--labels", "t.csv", "-o", "page.html")
    assert done.code == 0, done.err
    plain, best = map(int, re.findall(r"(\d+)%", done.out)[:2])
    units, scores = x / np.linalg.norm(x, axis=1, keepdims=True), []
    for fold in range(3):
        rows = np.flatnonzero(given % 3 == fold)
        hits = []
        for row in rows:
            similar = [(-np.inf if other == row else float(units[row] @ units[other]), other) for other in rows]
            hits.append(given[max(similar)[1]] == given[row])
        scores.append(np.mean(hits))
    assert plain == round(100 * np.mean(scores))
    assert best > plain + 5
    assert re.search(r"Train.*about [0-9.]+ \w+", done.out)
    assert abs(int(re.search(r"some (\d+)%", done.out)[1]) / 100 - wrong.mean()) < 0.04
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.index(re.match(r".*", done.out)[0]) < page.index("<h2")
    suspects = page[page.index('id="suspects"') : page.index('id="searches"')]
    shown = [int(row) for row in re.findall(r'class="file">sentence (\d+), &lt;b&gt;', suspects)]
    assert len(shown) == 12
    assert wrong[shown].sum() >= 11
    assert not re.search(r'(?:href|src)="(?!data:|#)', page)
    assert re.findall(r".*\bimages?\b.*", re.sub(r"(?s)<(style|script).*?</\1>|<.*?>", "", page)) == []  # vectors


NO_GAIN = "as they are finds the right class first in 79%."


@pytest.mark.parametrize(
    ("projection", "chosen", "words"),
    [("components", 0.7892, "no more (79%)."), ("components", 0.7951, "in 80%."), ("none", 0.7801, NO_GAIN)],
)
def test_a_gain_that_the_numbers_do_not_show_is_none(projection, chosen, words):
    scores = {"as they are": 0.7885, "chosen": chosen, "without suspects": min(chosen, 0.7885) + 0.001}
    steps = {step: {"recall@1": score} for step, score in scores.items()}
    best = Free(Candidate("vectors", projection, "one"), None, {})
    seen = SimpleNamespace(
        features={"vectors": 0}, network="your vectors", names=[], labels=[], labelled=True, paths=None
    )
    assert sentence(seen, Look(best, steps, 9, 3), best, None).endswith(words)


WAYS = [["x.npy", "--labels", "named.csv"], ["v.npz"], ["both.parquet"], ["both.csv"]]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_vectors_are_read_alike_however_their_labels_come(dml, vectors, tmp_path, way):
    x, given, _ = vectors
    rows = {"id": range(ROWS), "text": [f"about {row}" for row in range(ROWS)], "label": [f"c{k:02d}" for k in given]}
    table = pd.DataFrame(rows)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "v.npz", x)
    table.to_csv(tmp_path / "v.csv", index=False)  # beside v.npz
    table.to_csv(tmp_path / "named.csv", index=False)
    table.assign(vector=list(x)).to_parquet(tmp_path / "both.parquet", index=False)
    pd.concat([table, pd.DataFrame(x).add_prefix("e")], axis=1).to_csv(tmp_path / "both.csv", index=False)
    expected = dml("look", "v.npy", "--labels", "t.csv", "-o", "expected.html").out.splitlines()[0]
    done = dml("look", *way)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == expected
    (page,) = tmp_path.glob("dml-look-*.html")
    assert "about 7" in page.read_text(encoding="utf-8")
    np.save(tmp_path / "query.npy", x[[5]])
    for query in (["5"], ["about 5"], ["query.npy"]):
        done = dml("search", way[0], *query, *way[1:], "-k", 3)
        assert done.code == 0, done.err
        page = (tmp_path / "search.html").read_text(encoding="utf-8")
        near = [int(row) for row in re.findall(r"distance [\d.]+<br>about (\d+)", page)]
        assert len(near) == 3
        assert (near[0] == 5) is (query == ["query.npy"]), "a row does not find itself"
        assert sum(given[row] == given[5] for row in near) >= 2
    done = dml("search", way[0], "no such text", *way[1:])
    assert done.code == 2
    assert "no such text" in done.err


def test_scans_that_differ_little_from_their_mean_are_no_copies(dml, pictures, tmp_path):
    for path in {*pictures.rglob("*.png")} - {pictures / "kind2/broken.png"}:
        Image.open(path).point(lambda grey: 150 + grey // 32).save(path)
    (pictures / "kind0/link.png").symlink_to("nowhere.png")
    assert dml("look", pictures).code == 0
    _, copies, left_out = re.split('id="(?:copies|left-out)"', (tmp_path / "dml-look-pictures.html").read_text("utf-8"))
    assert set(re.findall(r"[\w-]+\.png", copies)) == {"3-0.png", "copy.png"}
    assert {"broken.png", "link.png"} <= set(re.findall(r"[\w-]+\.png", left_out))


def test_a_folder_of_images_and_a_search_in_it(dml, pictures, tmp_path, monkeypatch):
    before = {path: path.read_bytes() for path in pictures.rglob("*") if path.is_file()}
    done = dml("look", pictures)
    assert done.code == 0, done.err
    page = (tmp_path / "dml-look-pictures.html").read_text(encoding="utf-8")
    suspects = page[page.index('id="suspects"') : page.index('id="searches"')]
    assert "0-9.png" in suspects
    copies = page[page.index('id="copies"') : page.index('id="left-out"')]
    assert {"3-0.png", "copy.png"} <= set(re.findall(r"[\w-]+\.png", copies))
    left_out = page[page.index('id="left-out"') :]
    assert "broken.png" in left_out
    assert ".txt" in left_out
    assert page.count('src="data:image/') > 30
    assert re.search(r"Train.*about [0-9.]+ \w+", done.out)
    for mark in ("dvc.yaml", "params.yaml"):
        (tmp_path / mark).touch()
    studies = tmp_path / "pipelines/studies"
    studies.mkdir(parents=True)
    for read, proposed in ((f"{pictures}-older", "dml new pictures-2 "), (pictures, "\n    dml audit pictures\n")):
        (studies / "pictures.yaml").write_text(f"datasets: [{{settings: {{root: '{read}'}}}}]")
        assert proposed in dml("look", pictures).out  # its own page may be replaced
    (tmp_path / "queries").mkdir()
    (tmp_path / "query.png").rename(tmp_path / "queries/query.png")
    found = dml("search", pictures, "queries", "queries/query.png", "-k", 3)
    assert found.code == 0, found.err
    names = re.findall(r"distance [\d.]+<br>(\w+)/", (tmp_path / "search.html").read_text(encoding="utf-8"))
    assert names == ["kind4"] * 6
    assert before == {path: path.read_bytes() for path in pictures.rglob("*") if path.is_file()}


def test_columns_of_which_none_is_named_as_labels_are_listed(dml, vectors, tmp_path):
    x, given, _ = vectors
    pd.DataFrame({"vector": list(x), "package": given, "words": "w"}).to_parquet(tmp_path / "own.parquet", index=False)
    for place, labels in (("own.parquet", []), ("v.npy", ["--labels", "own.csv"])):
        pd.DataFrame({"package": given, "words": "w"}).to_csv(tmp_path / "own.csv", index=False)
        done = dml("look", place, *labels)
        assert all(text in done.out for text in ("package, words", "--column fine="))
    assert "package, words" not in dml("look", place, *labels, "--column", "fine=package").out
    pd.DataFrame({"fine": given[1:]}).to_csv(tmp_path / "v.csv", index=False)
    assert f"it has {ROWS - 1} rows, v.npy {ROWS} vectors" in dml("look", "v.npy").out
    for header, name in (("path,kind", "fine"), ("text,label", "path")):  # a text is no path of an image
        (tmp_path / "t.csv").write_text(f"{header}\na.jpg,b\n")
        assert f"`--column '{name}=" in dml("look", "t.csv").err


def test_a_page_of_somebody_else_stays(dml, vectors, tmp_path):
    (tmp_path / "dml-look-v.html").write_text("<title>mine</title>")
    done = dml("look", "v.npy", "--labels", "t.csv")
    assert done.code == 2
    assert (tmp_path / "dml-look-v.html").read_text() == "<title>mine</title>"


def test_the_page_of_another_place_stays_and_that_of_the_same_is_renewed(dml, vectors, tmp_path):
    (tmp_path / "other").mkdir()
    np.save(tmp_path / "other/v.npy", vectors[0][:40])  # of the same name
    assert dml("look", "v.npy").code == 0
    page = (tmp_path / "dml-look-v.html").read_bytes()
    done = dml("look", "other/v.npy")
    assert done.code == 2
    assert "v.npy" in done.err
    assert (tmp_path / "dml-look-v.html").read_bytes() == page
    assert dml("look", "other/v.npy", "-o", "other.html").code == 0
    (tmp_path / "dml-look-v.html").write_bytes(page.replace(b"</html>", b"old</html>"))
    assert dml("look", str(tmp_path / "v.npy")).code == 0
    assert (tmp_path / "dml-look-v.html").read_bytes() == page


@pytest.mark.parametrize(
    ("labels", "judged", "scored"),
    [
        (None, False, False),
        (["a"] * ROWS, False, False),
        ([f"c{row}" for row in range(ROWS)], False, False),  # each its own class
        (["a", "b", "c"] * (ROWS // 3), True, False),  # too few classes to hold some out
    ],
)
def test_what_cannot_be_judged_is_said_and_searches_are_shown(dml, vectors, tmp_path, labels, judged, scored):
    table = []
    if labels is not None:
        pd.DataFrame({"fine": labels}).to_csv(tmp_path / "few.csv", index=False)
        table = ["--labels", "few.csv"]
    done = dml("look", "v.npy", *table)
    assert done.code == 0, done.err
    assert ("first in" in done.out) is scored
    assert ("label" in done.out.splitlines()[0].partition(";")[2]) is judged
    page = (tmp_path / "dml-look-v.html").read_text(encoding="utf-8")
    assert page.count('class="query"') == 5
    assert ('id="suspects"' in page) is judged
    assert [f"dml {word}" in done.out for word in ("search", "audit", "run", "new")] == [True, scored, scored, judged]


def test_features_that_are_not_the_first_are_named():
    best = Free(Candidate("pixels", "none", "one"), None, {})
    assert best_words(best, SimpleNamespace(features={"frozen": 0, "pixels": 1})) == "the pixels as they are"


def test_stages_take_features_that_are_kept(tmp_path, pictures):
    from dml.data import sources
    from dml.data.packing import open_packed, pack

    pack(sources.build("imagefolder", root=str(pictures)), pictures, tmp_path / "packed", 24, "skip")
    packed, frozen = open_packed(tmp_path / "packed"), TrainingSpec(backbone="mlp", frozen=True)
    first = extract(packed, frozen, tmp_path / "kept" / "features")
    found = extract(packed, frozen, tmp_path / "store", run=None)  # nothing may be computed
    np.testing.assert_array_equal(open_features(found).array, open_features(first).array)


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


def test_the_page_is_not_written_over_a_file_of_the_user(dml, model, photos, tmp_path):
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
