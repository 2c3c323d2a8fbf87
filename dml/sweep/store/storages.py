"""The storages that a project's studies name (`resources.storage`), and what sweeps of any machine left there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dml.files import study_files

if TYPE_CHECKING:
    from dml.sweep.store.remote import Remote


def storages_of(studies: Path) -> list[str]:
    """The URIs that the studies in a folder name, without reading what they extend: that is a study too."""
    found: set[str] = set()
    for path in study_files(studies):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "storage" in text:
            try:
                content = yaml.safe_load(text)
                found.add((content.get("resources") or {}).get("storage") or "")
            except (yaml.YAMLError, AttributeError):
                continue  # `dml check` says what is wrong with it
    return sorted(found - {""})


def sweeps_there(storage: str) -> list[dict[str, Any]]:
    """The latest state of each sweep that used a storage.

    Raises
    ------
    StorageError : it cannot be read.
    ValueError : it is no URI of a storage.
    """
    from dml.sweep.store.mirror import SWEEPS
    from dml.sweep.store.remote import Remote

    remote = Remote(storage)
    with remote.impatient():
        names = [name for name in remote.list(SWEEPS) if name.endswith(".json")]
        found = [remote.read_json(f"{SWEEPS}/{name}") for name in sorted(names)]
    return [now for now in found if isinstance(now, dict) and {"study", "state", "host"} <= now.keys()]


def models_of_others(remote: Remote, store: Path) -> set[str]:
    """The keys of the trials whose models sweeps of other stores keep in a storage, or have not decided about.

    Raises
    ------
    StorageError : the storage cannot be read, or another sweep is writing its list.
    """
    from dml.sweep.store.mirror import MODELS_SUFFIX, SUFFIX, SWEEPS, owner
    from dml.sweep.store.remote import StorageError

    kept: set[str] = set()
    with remote.impatient():
        names = [name for name in remote.list(SWEEPS) if name.endswith(SUFFIX)]
        for name in [name for name in names if not name.startswith(f"{owner(store)}/")]:
            text = (remote.read(f"{SWEEPS}/{name}") or b"").decode()
            if not text.endswith("\n"):
                raise StorageError(f"{remote.where}: {SWEEPS}/{name} is not whole")
            decided = remote.read_json(f"{SWEEPS}/{name.removesuffix(SUFFIX)}{MODELS_SUFFIX}") or {}
            kept |= set(text.split()) - set(decided.get("drop", ())) | set(decided.get("keep", ()))
    return kept


def unreferenced_there(storage: str) -> Iterator[tuple[str, int]]:
    """(key, bytes) of each trial that ended in a storage, and that no sweep which used it refers to.

    An unfinished trial may be running on any machine, so it is not listed. Nothing is listed if the storage has no
    list of a sweep.

    Raises
    ------
    StorageError : it cannot be read.
    """
    from dml.sweep.store.mirror import SUFFIX, SWEEPS
    from dml.sweep.store.remote import Remote
    from dml.sweep.store.trials import OUTCOMES, TRIALS

    remote = Remote(storage)
    with remote.impatient():
        trials: dict[str, dict[str, int]] = {}
        for path, size in remote.list(TRIALS).items():
            key, _, name = path.partition("/")
            trials.setdefault(key, {})[name] = size
        lists = [name for name in remote.list(SWEEPS) if name.endswith(SUFFIX)]  # after the trials: a key comes first
        texts = [(remote.read(f"{SWEEPS}/{name}") or b"").decode() for name in lists]
    referred = {key for text in texts for key in text.split()}
    for key in sorted(trials.keys() - referred if lists else ()):
        if any(name in trials[key] for name in OUTCOMES):
            yield key, sum(trials[key].values())
