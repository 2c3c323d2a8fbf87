"""Training one trial. Start reading in `loop.py`: `Training` runs a `TrialSpec` and returns a `TrialResult`."""
