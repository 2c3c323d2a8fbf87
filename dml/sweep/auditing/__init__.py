"""The audit of a study's labels: `dml.audit` on its images, what is written, and reviews that are taken in.

`inputs.py` says which images and labels, and computes their representations; `reviews.py` keeps what a person asked and
answered, in `pipelines/audits/<study>`; `outputs.py` writes tables and `label_files.py` labels to train with.
"""
