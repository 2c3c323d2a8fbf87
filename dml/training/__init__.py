"""Training one trial. Start reading in `loop.py`: `Training` runs a `TrialSpec` and returns a `TrialResult`.

`build.py` makes the parts that the spec names, `data.py` opens the images and labels, `evaluator.py` computes scores on
clean labels, and `resuming.py` says what a checkpoint contains. `collectives.py` is what the processes that share a
trial say to each other, `ranks.py` which of them this one is, and `model_files.py` applies a trained network to images.
"""
