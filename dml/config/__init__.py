"""A study's YAML, validated: each problem is reported with file, line, key, value and choices before anything runs.

Its models stay at this boundary: parts take plain keyword arguments, and trials take the records of `dml.types`.
"""

from __future__ import annotations

from dml.config.compare import ComparisonSection
from dml.config.data import DatasetSection, NoiseSection
from dml.config.evaluation import AuditSection, ReferenceSection
from dml.config.for_use import audited_cell, audited_dataset
from dml.config.loading import (
    ConfigError,
    check_data,
    check_files,
    content_of,
    load_study,
    location,
    place_of,
    study_from,
)
from dml.config.search import ResourcesSection, SearchSection, best_point, stops_at_best, value_of
from dml.config.study import Study
from dml.config.training import InitFromSection, TrainingSection

__all__ = [
    "AuditSection",
    "ComparisonSection",
    "ConfigError",
    "DatasetSection",
    "InitFromSection",
    "NoiseSection",
    "ReferenceSection",
    "ResourcesSection",
    "SearchSection",
    "Study",
    "TrainingSection",
    "audited_cell",
    "audited_dataset",
    "best_point",
    "check_data",
    "check_files",
    "content_of",
    "load_study",
    "location",
    "place_of",
    "stops_at_best",
    "study_from",
    "value_of",
]
