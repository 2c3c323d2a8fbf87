"""Blocks as Markdown: the lines that a code host renders."""

import pandas as pd

from dml.report.page.blocks import Column, Table
from dml.report.page.markdown import markdown

COLUMNS = (Column("study", "Study", "name"), Column("what", "What it Is"), Column("trials", "Trials", "count"))


def table(**texts):
    frame = pd.DataFrame({"study": ["digits"], "what": ["two\nlines"], "trials": [1234]})
    return Table("t", "Title", texts.pop("caption", ""), COLUMNS, frame, **texts)


def test_names_are_code_numbers_are_on_the_right_and_a_row_is_a_line():
    assert markdown([table()]).splitlines() == [
        "| study | what it is | trials |",
        "|---|---|---:|",
        "| `digits` | two lines | 1,234 |",
    ]


def test_a_table_says_first_what_it_finds_and_folds_how_to_read_it():
    made = table(lead="Found.", caption="Read it so.", limits="Not known.")
    first, head, _, *rest = markdown([made]).split("\n\n")
    assert (first, head.splitlines()[0]) == ("Found.", "| study | what it is | trials |")
    assert rest == ["Read it so.", "</details>", "Not known."]
    assert made.text == "Found. Read it so. Not known."
