"""The report: `site.build` turns results into one static site.

`results` reads what the sweeps left; `tables`, `comparisons`, `reproduction`, `robustness` and `runs` make tables of
it; `figures`, `progress` and `planes` draw it; `pages` and `theory` say what stands where; `site` writes the files.
"""
