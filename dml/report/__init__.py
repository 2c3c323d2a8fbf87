"""The report: `site.build` turns results into one static site. `sections/` has one file per section: start there."""
