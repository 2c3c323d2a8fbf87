"""What each method finds: the nearest neighbours of random queries (figure 3 of Levi et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pandas as pd

from dml.counting import counted
from dml.report.analysis.embedded_cells import Shown, level_of, shown, vectors
from dml.report.analysis.neighbors import nearest, random_queries
from dml.report.figure_data import Arrays
from dml.report.figures.retrieval_rows import retrieval_rows
from dml.report.page.blocks import Block, Drawing, Paragraph
from dml.report.pictures import Pictures, open_pictures
from dml.report.results import Results
from dml.report.sections._embedded import absent, asked, named
from dml.report.texts import Texts
from dml.report.thumbnails import Thumbnails, record_pictures, snapshot_pictures

say = Texts(__file__)

MOST = 4  # methods


class Retrieval:
    """Rows of pictures."""

    anchor, title = "retrieval", "What is found"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "retrieval")

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset, or why there is none."""
        found = shown(results, "retrieval", MOST)
        if not found:
            yield absent()
        for each in found:
            yield _block(results, each)


def _block(results: Results, of: Shown) -> Block:
    if results.figures.snapshot is not None:
        thumbnails = snapshot_pictures(results, of.dataset)
        if thumbnails is None:
            return Paragraph(say("unpublished", dataset=of.dataset))
        searched = {key: results.figures.of(*_place(key), dict) for key in of.keys.values()}
        return _drawing(results, of, thumbnails, searched)
    try:
        pictures = open_pictures(results, of.dataset)
    except (OSError, KeyError, ValueError):
        return Paragraph(say("elsewhere", dataset=of.dataset))
    for key in of.keys.values():
        content = results.embeddings(key)
        rows = content["set"] == "test"
        if "index" not in content:
            return Paragraph(say("unnumbered"))
        if not pictures.matches(content["index"][rows], content["labels_fine"][rows]):
            return Paragraph(say("other", dataset=of.dataset))
    queries = _queries(results, of, pictures)
    searched = {
        key: results.figures.of(*_place(key), partial(_neighbours, results, name, key, pictures, queries))
        for name, key in of.keys.items()
    }
    rows = np.unique(np.concatenate([array.ravel() for found in searched.values() for array in _images(found)]))
    record_pictures(results, of.dataset, pictures, rows[rows >= 0], level_of(results, of.dataset))
    return _drawing(results, of, pictures, searched)


def _place(key: str) -> tuple[str, str, str]:
    return "retrieval", key, "test"


def _images(found: Arrays) -> tuple[np.ndarray, np.ndarray]:
    return found["queries"], found["near"]


def _tested(results: Results, dataset: str, key: str) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """What a trial kept; of its test images, their rows in the packed array and their labels."""
    content = results.embeddings(key)
    rows = content["set"] == "test"
    return content, content["index"][rows], content[f"labels_{level_of(results, dataset)}"][rows]


def _queries(results: Results, of: Shown, pictures: Pictures) -> np.ndarray:
    """The rows (q,) of random queries in the packed array."""
    _, index, labels = _tested(results, of.dataset, next(iter(of.keys.values())))
    asked = results.study.report
    return index[random_queries(labels, pictures.roles(index), asked.queries, asked.seed)]


def _neighbours(results: Results, name: str, key: str, pictures: Pictures, queries: np.ndarray) -> Arrays:
    """`queries` (q,) and `near` (q, k), rows of the packed array, -1 for none; `right` (q, k): of the query's class."""
    content, index, labels = _tested(results, results.cells[name].dataset, key)
    roles, points = pictures.roles(index), vectors(results, name, content)[content["set"] == "test"]
    near = np.full((len(queries), results.study.report.neighbors), -1, dtype=np.int32)
    right = np.zeros(near.shape, dtype=bool)
    for place, row in enumerate(queries):
        query = int(np.flatnonzero(index == row)[0])
        found = nearest(points, labels, roles, query, near.shape[1])
        near[place, : len(found)], right[place, : len(found)] = index[found], labels[found] == labels[query]
    return {"queries": queries.astype(np.int32), "near": near, "right": right}


def _drawing(results: Results, of: Shown, pictures: Pictures | Thumbnails, searched: Mapping[str, Arrays]) -> Block:
    asked, level = results.study.report, level_of(results, of.dataset)
    rows = []
    for name, key in of.keys.items():
        found, about = searched[key], named(results, of, name, "test")
        for query, near, right in zip(found["queries"], found["near"], found["right"], strict=True):
            about |= {"query": int(query), "query class": pictures.label(int(query), level)}
            for place, (row, same) in enumerate(zip(near[near >= 0], right[near >= 0], strict=True)):
                neighbour = {"image": int(row), "class": pictures.label(int(row), level), "right": bool(same)}
                rows.append(about | {"place": place + 1} | neighbour)
    frame, queries = pd.DataFrame(rows), next(iter(searched.values()))["queries"]
    figure = retrieval_rows(frame, pictures.thumbnail) if rows else None
    shares = frame.groupby("method", sort=False)["right"].mean() if rows else ()
    caption = say(
        "figure",
        images=counted(len(queries), "random image"),
        seed=asked.seed,
        neighbors=asked.neighbors,
        where=of.where,
        shares=", ".join(f"{share:.0%}" for share in shares),
        note=of.note,
    )
    return Drawing(f"retrieval-{of.dataset}", figure, frame, say("alt"), caption)
