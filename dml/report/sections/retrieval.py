"""What each method finds: the nearest neighbours of random queries (figure 3 of Levi et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dml.report.analysis.neighbors import nearest, random_queries
from dml.report.analysis.shown import Shown, level_of, shown, vectors
from dml.report.figures.embedded import titles
from dml.report.figures.retrieval_rows import Block as Rows
from dml.report.figures.retrieval_rows import Picture, retrieval_rows
from dml.report.labels import counted
from dml.report.page.blocks import Block, Drawing, Paragraph
from dml.report.pictures import Pictures, open_pictures
from dml.report.results import Results
from dml.report.sections._embedded import ABSENT, asked

MOST = 4  # methods
ELSEWHERE = "The images of {} are not on this machine, or cannot be read, so neighbours are not drawn."
OTHER = "The packed images of {} are not those that these trials were evaluated on, so neighbours are not drawn."


class Retrieval:
    """Rows of pictures."""

    anchor, title = "retrieval", "What is found"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "retrieval")

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset, or why there is none."""
        found = shown(results, MOST)
        if not found:
            yield ABSENT
        for each in found:
            try:
                pictures = open_pictures(results, each.dataset)
            except (OSError, KeyError, ValueError):
                yield Paragraph(ELSEWHERE.format(each.dataset))
            else:
                yield _drawing(results, each, pictures)


def _drawing(results: Results, of: Shown, pictures: Pictures) -> Block:
    asked, level = results.study.report, level_of(results, of.dataset)
    chosen: np.ndarray | None = None  # the queries' rows in the packed array
    blocks: list[list[list[Picture]]] = []
    for name, key in of.keys.items():
        content = results.embeddings(key)
        rows = np.flatnonzero(content["set"] == "test")
        if "index" not in content:
            return Paragraph("These trials were evaluated before embeddings carried the numbers of their images.")
        index, labels = content["index"][rows], content[f"labels_{level}"][rows]
        if not pictures.matches(index, content["labels_fine"][rows]):
            return Paragraph(OTHER.format(of.dataset))
        roles, points = pictures.roles(index), vectors(results, name, content)[rows]
        if chosen is None:
            chosen = index[random_queries(labels, roles, asked.queries, asked.seed)]
        found = []
        for query in (int(np.flatnonzero(index == row)[0]) for row in chosen):
            near = nearest(points, labels, roles, query, asked.neighbors)
            found.append([_picture(pictures, int(index[n]), level, bool(labels[n] == labels[query])) for n in near])
        blocks.append(found)
    assert chosen is not None
    queries = [_picture(pictures, int(row), level) for row in chosen]
    figure = retrieval_rows(
        [Rows(query, [found[i] for found in blocks]) for i, query in enumerate(queries)],
        titles(results, list(of.keys), 18),
    )
    right = [sum(bool(p.right) for row in found for p in row) / max(1, sum(map(len, found))) for found in blocks]
    caption = (
        f"{counted(len(queries), 'random image')} of the test set as queries (seed {asked.seed}), each with its "
        f"{asked.neighbors} nearest neighbours by each method{of.where}, nearest first. A solid frame and a tick: of "
        "the query's class; a dashed frame and a cross: of another. Right in these rows: "
        f"{', '.join(f'{share:.0%}' for share in right)}, in the order of the methods. {of.note}"
    )
    return Drawing(
        f"retrieval-{of.dataset}", figure, "Queries and their nearest neighbours by method.", caption, png=True
    )


def _picture(pictures: Pictures, row: int, level: str, right: bool | None = None) -> Picture:
    return Picture(pictures.thumbnail(row), pictures.label(row, level), right)
