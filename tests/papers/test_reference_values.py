"""The numbers that the four papers publish."""

from dml.report import reference_values


def test_all_rows_load():
    table = reference_values.table()
    assert list(table.columns) == list(reference_values.COLUMNS)
    assert table["value"].between(0, 100).all()
    assert not table.duplicated(list(reference_values.COLUMNS[:-1])).any()
    assert len(table[table["paper"].isin(["eps", "loop"])]) == 657
