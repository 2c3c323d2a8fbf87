"""The audit of a study's labels: `dml.audit` on its images, what is written, and reviews that are taken in.

`inputs.py` says which images and labels, and computes their representations; `trained.py` trains networks for one more
(`fold_training.py` is one training, `workers.py` where they run); `reviews.py` keeps what a person asked and
answered, in `pipelines/audits/<study>`; `outputs.py` writes tables and `label_files.py` labels to train with.
"""
