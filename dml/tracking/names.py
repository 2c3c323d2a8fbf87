"""Names that MLflow accepts: letters, digits, spaces and the signs `_ - . : /`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

VALUE_LENGTH = 500  # characters; every MLflow version accepts parameter values of this length


def metric_name(name: str) -> str:
    """`test/fine/recall@1` -> `test/fine/recall_at_1`; `nmi+` -> `nmi_plus`."""
    return re.sub(r"[^\w\-. :/]", "_", name.replace("@", "_at_").replace("+", "_plus"))


def parameters(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as MLflow parameters: `{"loss": {"margin": 1}}` -> `{"loss.margin": "1"}`. Skips None."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat |= parameters(value, f"{name}.")
        elif value is not None:
            flat[metric_name(name)] = str(value)[:VALUE_LENGTH]
    return flat
