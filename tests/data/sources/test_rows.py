"""Which lines of a CSV file are rows."""

from dml.data.sources._rows import read_rows


def test_a_row_of_empty_fields_is_a_row_and_a_blank_line_is_none(tmp_path):
    (tmp_path / "table.csv").write_text("path,fine\n,\n \nx.png,1\n")
    table, numbers = read_rows(tmp_path / "table.csv")
    assert table.to_numpy().tolist() == [["", ""], ["x.png", "1"]]
    assert numbers == [2, 4]


def test_the_separator_is_that_of_the_first_line_that_is_not_blank(tmp_path):
    (tmp_path / "table.csv").write_text("\n \npath;fine\nx,y.png;1\n")
    assert read_rows(tmp_path / "table.csv")[0].to_dict("records") == [{"path": "x,y.png", "fine": "1"}]
