"""The page of an audit: one HTML file with suspects, tables and a review mode. `page.write_page` writes it.

The review mode saves `review.csv`, UTF-8, with one row for each answered image:

    index   the image's row in the audit
    path    its name, empty if none was given
    given   its label as given
    answer  right, wrong or unsure
    label   the right class of a wrong label, empty if it was not named
    audit   the plan's digest: a review of other vectors or labels has another one

Labels are text there: read it with `pandas.read_csv(path, dtype={"given": str, ...}, keep_default_na=False)`, so that
neither "007" nor "NA" changes. `dml.audit.estimate` takes the frame.
"""

from dml.report.audit.page import write_page

__all__ = ["write_page"]
