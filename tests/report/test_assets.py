"""A page's files: each block has its own, whatever a study calls its datasets, noises and settings."""

import pandas as pd
from matplotlib.figure import Figure

from dml.report.page.assets import Assets, SavedDrawing, SavedTable
from dml.report.page.blocks import Column, Drawing, Table

FRAME = pd.DataFrame({"x": [1.0]})
NAMES = (
    *("best-mine.v1-uniform", "best-mine.v2-uniform", "best-mine-label_file:v1.0", "best-mine-mine.noise.Flip"),
    *("noise-nmi+", "noise-nmiplus", "recall@1", "recall1", "lr-1e-05", "Mine", "mine", "ß", "SS"),
    *("../../up", "a b", "a_b", "a/b", "a?b", "a%20b", "#", "x" * 300, "x" * 299 + "y", "花" * 100, "mine", "mine~2"),
)


def test_no_two_blocks_share_a_file_on_any_disk(tmp_path):
    saved = Assets(tmp_path, "page.v1").save(
        block
        for name in NAMES
        for block in (Drawing(name, Figure(), FRAME, "", "", True), Table(name, "", "", (Column("x", "X"),), FRAME))
    )
    drawings = [block for block in saved if isinstance(block, SavedDrawing)]
    tables = [block for block in saved if isinstance(block, SavedTable)]
    paths = [path for d in drawings for path in (d.svg, d.png, d.csv)] + [t.href for t in tables]
    assert len({path.casefold() for path in paths}) == len(paths) == 4 * len(NAMES)
    written = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()}
    assert written == set(paths)
    assert len({table.name for table in tables}) == len(tables)  # anchors of the page
    assert not any(sign in path for path in paths for sign in ' :?#%"<>')
