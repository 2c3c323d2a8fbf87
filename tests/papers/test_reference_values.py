"""The numbers that the four papers publish."""

import pytest

from dml.report.sections import reference_values


def test_all_rows_load():
    table = reference_values.table()
    assert list(table.columns) == list(reference_values.COLUMNS)
    assert table["value"].between(0, 100).all()
    assert not table.duplicated(list(reference_values.COLUMNS[:-1])).any()
    assert len(table[table["paper"].isin(["eps", "loop"])]) == 657


def test_loops_eigenvalues_times_and_gains_are_there():
    table = reference_values.table().set_index(["table", "dataset", "method", "metric"])["value"].sort_index()
    assert table["S-fig1", "sop", "LoOp (Triplet)", "eigenvalue 1 x 100"] == 12.24
    assert table["sec4.3", "any", "LoOp (MS)", "seconds per iteration"] == 0.121
    gains = table["S-sec7", "cub200", "LoOp over EE (Triplet, GoogLeNet)"]
    rows = {name: table["2", "cub200", name] for name in ("LoOp (Triplet)", "EE (Triplet)")}
    for metric in ("NMI", "R@1", "R@2", "R@4"):
        assert gains[f"{metric} gain"] == pytest.approx(rows["LoOp (Triplet)"][metric] - rows["EE (Triplet)"][metric])
