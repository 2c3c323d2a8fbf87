"""Finding parts: a part is one file with one class, and its file's name is its name in a study.

The class is the file's name in CamelCase (`multi_similarity.py` holds `MultiSimilarity`); a file without such a class
(`geodesic.py`) is no part. A dotted path names a part of any other package.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any


def class_name(name: str) -> str:
    """`multi_similarity` -> `MultiSimilarity`."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


@cache
def names(package: str) -> tuple[str, ...]:
    """The names of all parts in a package such as `"dml.losses"`, sorted."""
    root = importlib.import_module(package)
    found = []
    for module in pkgutil.iter_modules(root.__path__):
        if module.name.startswith("_") or module.ispkg:
            continue
        if hasattr(importlib.import_module(f"{package}.{module.name}"), class_name(module.name)):
            found.append(module.name)
    return tuple(sorted(found))


def find(package: str, name: str) -> type:
    """The class of a part.

    Parameters
    ----------
    package : where `dml`'s own parts of this kind live, such as `"dml.losses"`.
    name : a part's name there, or a dotted path to a class of another package.

    Raises
    ------
    ValueError : no such part; the message lists those there are.
    """
    kind = package.removeprefix("dml.").replace(".", " ")
    if "." in name:
        module, _, attribute = name.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"{kind}: the dotted path {name!r} cannot be imported: {error}") from error
        if not isinstance(found, type):
            raise ValueError(f"{kind}: {name!r} is a {type(found).__name__}, expected a class")
        return found
    if name not in names(package):
        raise ValueError(f"{kind}: unknown name {name!r}{suggestion(name, names(package))}")
    return getattr(importlib.import_module(f"{package}.{name}"), class_name(name))


def suggestion(given: str, choices: tuple[str, ...] | list[str]) -> str:
    """The tail of an error message: the nearest choice, then all of them."""
    close = difflib.get_close_matches(given, choices, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"{hint} Choices: {', '.join(choices)}"


def settings_of(part: type) -> dict[str, inspect.Parameter]:
    """The settings a part's constructor takes, by name (empty where it takes any)."""
    return {
        name: parameter
        for name, parameter in inspect.signature(part).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def check_settings(part: type, settings: dict[str, Any], label: str) -> None:
    """Raise a ValueError that names the first setting `part` does not take, and those that it takes."""
    signature = inspect.signature(part)
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return
    known = settings_of(part)
    for key in settings:
        if key not in known:
            raise ValueError(f"{label}: unknown setting {key!r}{suggestion(key, sorted(known))}")


def build(package: str, name: str, /, **settings: Any) -> Any:
    """Construct a part by name. A misspelt setting is an error that lists the settings there are."""
    part = find(package, name)
    check_settings(part, settings, label=f"{package.removeprefix('dml.')} {name!r}")
    return part(**settings)


def metric_part(name: str) -> tuple[str, dict[str, int]]:
    """A metric's file and settings from its name in the field: `recall@5` -> `("recall", {"k": 5})`.

    `map@r` is the file `map_at_r`, `nmi+` the file `nmi_plus`.
    """
    stem = name.replace("+", "_plus")
    if "@" not in stem:
        return stem, {}
    stem, _, argument = stem.partition("@")
    return (stem, {"k": int(argument)}) if argument.isdigit() else (f"{stem}_at_{argument}", {})


def metric_names() -> tuple[str, ...]:
    """The metrics there are, as they are written in a study (`recall@K` stands for any K)."""
    shown = []
    for name in names("dml.evaluation.metrics"):
        spelt = name.replace("_plus", "+").replace("_at_", "@")
        takes_k = "k" in settings_of(find("dml.evaluation.metrics", name))
        shown.append(f"{spelt}@K" if takes_k else spelt)
    return tuple(shown)


def check_metric(name: str) -> None:
    """Raise a ValueError that lists the metrics there are, unless `name` is one."""
    part, settings = metric_part(name)
    if part not in names("dml.evaluation.metrics"):
        raise ValueError(f"unknown metric {name!r}{suggestion(name, metric_names())}")
    takes_k = "k" in settings_of(find("dml.evaluation.metrics", part))
    if takes_k != bool(settings) or settings.get("k", 1) < 1:
        raise ValueError(f"unknown metric {name!r}{suggestion(name, metric_names())}")
