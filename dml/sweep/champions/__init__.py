"""The champion: a study's winner, trained on all classes and images of a dataset, with the labels as they were given.

`data.py` lists the images and labels, `spec.py` fills the winner's settings in, `train.py` trains and resumes, and
`card.py` describes the model. Nothing is held out, so a champion has no score of its own: its card has the recipe's.
"""
