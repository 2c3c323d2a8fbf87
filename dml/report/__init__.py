"""The report: `site.build` turns results into one static site.

`contents` lists what is on each page; `sections/` has one file per section (start there to add one). `loading` reads
the results, `results` is the record of them, `analysis/` computes with them (`cache` keeps what takes long), `pictures`
opens the images. `figures/` has the style and the shared figures, `page/` the furniture: tables, templates, styles,
file writing. `assembly` puts pages together, `site` writes them. `audit/` writes the page of an audit, one file
for itself.
"""
