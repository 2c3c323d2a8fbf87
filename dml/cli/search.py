"""`dml search`: the nearest images of a query, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dml.cli.embed import Dataset, Noise, SkipCorrupt
from dml.cli.look import Columns, Mirror, Root


def search(
    places: Annotated[
        list[str],
        typer.Argument(metavar="[MODEL] FOLDER QUERY...", help="A model, if any; images to find; to search with."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("search.html"),
    count: Annotated[int, typer.Option("--count", "-k", help="Images to show for each query.", min=1)] = 10,
    skip_corrupt: SkipCorrupt = False,
    dataset: Dataset = None,
    noise: Noise = None,
    root: Root = None,
    column: Columns = None,
    mirror: Mirror = None,
) -> None:
    """Find the nearest images of each query in a folder, and write them as one page with thumbnails.

    A model of vectors searches a file of them; rows show their text or path. MODEL is a trained model's folder, key,
    study or URI. Without one, images are compared as dml look finds best: by the features of a pretrained network,
    whitened if that is better. FOLDER may be a table then. The page needs no other file and no network.

    [bold]Examples[/bold]: dml search ./photos one.jpg · dml search my-images /data/photos one.jpg two.jpg -o page.html
    """
    from dml.cli.look import best_words, columns
    from dml.cli.models import describe, find_model, model_folder_of
    from dml.cli.nearest import nearest
    from dml.cli.search_page import TITLE, check_page, search_page
    from dml.cli.vectors import Embedded, embed_files, embed_rows, image_files, takes_vectors
    from dml.counting import counted
    from dml.files import write_text

    check_page(out, TITLE, "dml search")
    if len(places) < 2:
        raise typer.BadParameter("expected a folder and images to search with", param_hint="[MODEL] FOLDER QUERY...")
    first, pictures = Path(places[0]), True
    if missing := [place for place in places[1:] if not Path(place).exists()]:
        raise typer.BadParameter(f"{missing[0]}: no such file or folder", param_hint="[MODEL] FOLDER QUERY...")
    alone = len(places) == 2 or not Path(places[1]).is_dir()
    if first.exists() and alone and not model_folder_of(first):
        from dml.cli.collection import collect

        folder, asked = first, image_files(map(Path, places[1:]))
        seen = collect(first, None, root, columns(column), mirror, lambda line: typer.echo(line, err=True))
        if seen.paths is None:
            raise ValueError(f"{first}: contains vectors: expected a folder or a table of images")
        best = seen.free()
        model = f"{seen.network}, {best_words(best)}"
        gallery = Embedded(seen.paths, best.embed(seen.features))
        searched = Embedded(asked, best.embed(seen.features_of(asked)))
    else:
        if len(places) < 3:
            raise ValueError(f"{places[0]}: no such folder. Expected FOLDER QUERY..., or MODEL FOLDER QUERY...")
        model, folder, queries = places[0], Path(places[1]), [Path(place) for place in places[2:]]
        found = find_model(model, dataset, noise)
        typer.echo(describe(found), err=True)
        if pictures := not takes_vectors(found):
            asked = image_files(queries)
            gallery, searched = embed_files(found, image_files([folder]), skip_corrupt), embed_files(found, asked)
        else:
            gallery, searched = embed_rows(found, [folder]), embed_rows(found, queries)
    rows = nearest(searched, gallery, count)
    write_text(out, search_page(model, folder, len(gallery.paths), rows, pictures))
    shown = max(len(row.neighbours) for row in rows)
    images = counted(len(gallery.paths), "image" if pictures else "vector")
    searches = counted(len(searched.paths), "query")
    print(f"{out.resolve().as_uri()}: the {shown} nearest of {images} for {searches}")
