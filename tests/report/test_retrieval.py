"""Rows of neighbours: which images are found, how right and wrong ones are marked, and what happens without images."""

import dataclasses

import matplotlib.patches
import numpy as np
import pandas as pd
import pytest

from dml.report.page.blocks import Drawing
from dml.report.sections.retrieval import (
    RIGHT,
    WRONG,
    Pictures,
    Retrieval,
    Roles,
    nearest,
    open_pictures,
    random_queries,
)

pytestmark = pytest.mark.slow

CLASSES, EACH = 4, 6
LABELS = np.repeat(np.arange(CLASSES), EACH)
EVERY = Roles(np.ones(len(LABELS), dtype=bool), np.ones(len(LABELS), dtype=bool))


@pytest.fixture
def shown(synthetic, loaded, tmp_path):
    """(shape of an image, settings of `report`) -> results with embeddings and images; embeddings are in reverse."""

    def make(shape=(8, 8, 1), roles="test", index=None, **report):
        results = loaded(synthetic.embedding_study("embedded", ("retrieval",), report=report))
        synthetic.keep(results, LABELS)
        rng = np.random.default_rng(0)
        images = rng.integers(0, 255, (len(LABELS), *shape), dtype=np.uint8)
        table = pd.DataFrame({"fine": LABELS[::-1], "coarse": LABELS[::-1] % 2}) if index is None else index
        synthetic.pack(tmp_path / "data", "digits", images, table, np.resize(roles, len(LABELS)))
        return dataclasses.replace(results, data=tmp_path / "data")

    return make


def _drawing(results):
    (block,) = list(Retrieval().content(results))
    assert isinstance(block, Drawing), block
    return block


def test_neighbours_against_a_loop():
    points = np.random.default_rng(0).normal(size=(len(LABELS), 3))
    found = nearest(points, LABELS, EVERY, 5, 4)
    distances = sorted((float(np.linalg.norm(points[5] - points[i])), i) for i in range(len(LABELS)) if i != 5)
    assert found.tolist() == [i for _, i in distances[:4]]


def test_a_query_searches_the_gallery_without_images_of_its_own_camera():
    points = np.random.default_rng(1).normal(size=(len(LABELS), 3))
    cameras = np.arange(len(LABELS)) % 2
    query = np.arange(len(LABELS)) % 3 == 0
    roles = Roles(query, ~query, cameras)
    found = nearest(points, LABELS, roles, 3, len(LABELS)).tolist()
    allowed = [i for i in range(len(LABELS)) if not query[i] and (LABELS[i] != 0 or cameras[i] != cameras[3])]
    assert sorted(found) == allowed
    assert set(random_queries(LABELS, roles, 99, 0)) <= set(np.flatnonzero(query))


def test_right_and_wrong_differ_by_frame_and_sign_and_tell_the_truth(shown):
    results = shown(queries=4, neighbors=5)
    (axes,) = _drawing(results).figure.axes
    frames = [p for p in axes.patches if isinstance(p, matplotlib.patches.Rectangle)]
    solid = [f for f in frames if f.get_linewidth() == 2 and f.get_linestyle() in ("-", "solid")]
    signs = [text.get_text()[0] for text in axes.texts if text.get_text()[0] in (RIGHT[0], WRONG[0])]
    assert 0 < len(solid) < len(signs)
    assert signs.count(RIGHT[0]) == len(solid)
    expected = 0
    for key in results.confirmed.drop_duplicates("cell").query("rate == 0")["key"]:
        content = results.embeddings(key)
        points = content["embeddings"] / np.linalg.norm(content["embeddings"], axis=1, keepdims=True)
        for query in random_queries(LABELS, EVERY, 4, 0):
            order = [i for i in np.argsort(-(points @ points[query]), kind="stable") if i != query][:5]
            expected += int((LABELS[order] == LABELS[query]).sum())
    assert signs.count(RIGHT[0]) == expected


def test_roles_come_from_the_split(shown):
    table = pd.DataFrame({"fine": LABELS[::-1], "coarse": 0, "camera": np.arange(len(LABELS)) % 3})
    pictures = open_pictures(shown(roles=["query", "gallery"], index=table), "digits")
    assert isinstance(pictures, Pictures)
    roles = pictures.roles(np.array([4, 5, 7]))
    assert roles.query.tolist() == [True, False, False]
    assert roles.gallery.tolist() == [False, True, True]
    assert roles.cameras.tolist() == [1, 2, 1]
