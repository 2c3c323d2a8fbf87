"""What is on a study's page, in the order of reading. A name is a file in `dml/report/sections/`.

A study's page leaves out the sections that do not apply to its results.
"""

STUDY = (
    "effects_of_choices",
    "winners",
    "precision",
    "untrained",
    "against_setting",
    "planes",
    "retrieval",
    "similarities",
    "tsne",
    "spectrum",
    "reference_values",
    "claims",
    "all_results",
    "negative_skew",
    "tuning",
    "settings",
    "training_log",
    "provenance",
    "failures",
)
"""A study's page."""

EMBEDDINGS = ("planes", "retrieval", "similarities", "tsne", "spectrum")
"""Those of them that draw kept embeddings. A publication keeps what they show."""

KEY_FIGURE = ("planes", "against_setting", "winners")
"""The first drawing of the first of these that applies is the study's key figure: `figures/<study>/key.png`."""

COMPARING = (
    *("effects_of_choices", "winners", "precision", "untrained", "against_setting", "reference_values"),
    *("claims", "all_results"),
)
"""Those that compare methods: their headings say if the study's learning rate is not tuned."""

INDEX = ("winners",)
"""A study's card on the index shows what these sections' `card` yields, then the key figure."""
