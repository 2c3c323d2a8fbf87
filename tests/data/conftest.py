"""Helpers of the data tests: `small_archives` writes raw files, `made_source` is a source of given images."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
