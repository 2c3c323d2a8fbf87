"""Planes of many cells: rows of four, at most twelve panels, and what is left out."""

from dml.report.sections.planes import Planes


def test_many_cells_are_wrapped_and_the_rest_is_counted(synthetic, loaded):
    methods = {"positives": ["random", "easy", "hard"], "negatives": ["random", "hard", "semihard_random"]}
    results = loaded(synthetic.plane_study(seeds=1).model_copy(update=methods))
    (drawing,) = list(Planes().content(results))
    assert len([axes for axes in drawing.figure.axes if axes.axison]) == 12
    assert max(axes.get_subplotspec().colspan.stop for axes in drawing.figure.axes) <= 4
    assert "3 cells not shown" in drawing.caption
