"""`dml search`: the nearest images of a query, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dml.cli.embed import Dataset, ModelName, Noise, SkipCorrupt


def search(
    model: ModelName,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="With the images to find; for a model of vectors, their file.", exists=True
        ),
    ],
    queries: Annotated[
        list[Path], typer.Argument(metavar="QUERY", help="Images to search with, or a file of vectors.", exists=True)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("search.html"),
    count: Annotated[int, typer.Option("--count", "-k", help="Images to show for each query.", min=1)] = 10,
    skip_corrupt: SkipCorrupt = False,
    dataset: Dataset = None,
    noise: Noise = None,
) -> None:
    """Find the nearest images of each query in a folder, and write them as one page with thumbnails.

    A model of vectors searches a file of them; rows show their text or path. The page needs no other file.

    [bold]Example[/bold]: dml search my-images /data/photos one.jpg two.jpg -o page.html
    """
    from dml.cli.models import describe, find_model
    from dml.cli.nearest import nearest
    from dml.cli.search_page import TITLE, search_page
    from dml.cli.vectors import embed_files, embed_rows, image_files, takes_vectors
    from dml.counting import counted
    from dml.files import check_writable, write_text

    check_writable(out)
    if out.exists() and TITLE.encode() not in out.read_bytes()[:1000]:
        raise typer.BadParameter(
            f"{out} exists, and is not a page of dml search: choose another name", param_hint="--out"
        )
    found = find_model(model, dataset, noise)
    pictures = not takes_vectors(found)
    places = (image_files([folder]), image_files(queries)) if pictures else ([folder], queries)
    typer.echo(describe(found), err=True)
    if pictures:
        gallery, searched = embed_files(found, places[0], skip_corrupt), embed_files(found, places[1])
    else:
        gallery, searched = embed_rows(found, places[0]), embed_rows(found, places[1])
    rows = nearest(searched, gallery, count)
    write_text(out, search_page(model, folder, len(gallery.paths), rows, pictures))
    shown = max(len(row.neighbours) for row in rows)
    images = counted(len(gallery.paths), "image" if pictures else "vector")
    searches = counted(len(searched.paths), "query")
    print(f"{out.resolve().as_uri()}: the {shown} nearest of {images} for {searches}")
