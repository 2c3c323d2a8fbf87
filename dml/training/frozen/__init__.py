"""Trials on what a fixed network gives: it is computed once for all images, and trials read it in place of images.

With `frozen` that is the backbone's features, and trials train only the head. With `train_from` it is the activations
before a block, of several augmented views of each image, and trials train that block and those above.

`recipe.py` says what decides features or activations, and names their folder by it. `shapes.py` says their size.
`extraction.py` computes them in shards, and `opening.py` gives them to a trial in place of its images (`opening.py`).
"""
