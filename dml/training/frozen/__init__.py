"""Trials on frozen features: the backbone's features of all images are computed once, and trials train only the head.

`recipe.py` says what decides features, and names their folder by it. `extraction.py` computes them in shards, and
`opening.py` gives them to a trial in place of its images, so neither the loop nor the evaluation knows the difference.
"""
