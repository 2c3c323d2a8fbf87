"""The four papers: what they claim, the numbers they publish, and their theory, computed.

A paper is a folder with a `paper.yaml`, which `dml/papers.py` describes. Its studies are in `pipelines/studies`. `dml`
does not depend on what is here.
"""
