"""Finding parts: a file `multi_similarity.py` with a class `MultiSimilarity` is the part `multi_similarity`.

In a file of another name, which small parts may share, the classes that state a `version` are parts. Files whose names
begin with an underscore have none. A dotted path names a class of any other package.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.metadata
import importlib.util
import inspect
import keyword
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any

KINDS = (
    "dml.losses",
    "dml.filters",
    "dml.miners.positives",
    "dml.miners.negatives",
    "dml.noise",
    "dml.data.sources",
    "dml.data.batches",
    "dml.data.augment",
    "dml.models",
    "dml.evaluation.metrics",
)
"""The packages that contain parts, one for each kind."""

PLAIN: dict[Any, Any] = {bool: bool, int: Integral, float: Real, str: str}
"""Annotation -> class of the values that it allows."""
WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    type(None): "null",
    Sequence: "a list",
    Mapping: "a mapping",
}
"""Annotation -> what messages call its values."""

CLASS = re.compile(r"^class ([A-Z]\w*)\b.*\n(?:(?:[ \t].*)?\n)*", re.MULTILINE)  # with its body
VERSION = re.compile(r"^ +(?:\w+, )*version\b", re.MULTILINE)

MANY = 40  # choices, of which a message shows
LIKE = 8  # those most like what was given


def installed(package: str) -> bool:
    """Whether an optional package can be imported.

    A folder of its name in the project does not count: Python would import it as a package without content.
    """
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def class_name(name: str) -> str:
    """`multi_similarity` -> `MultiSimilarity`, `none` -> `None_`."""
    camel = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return f"{camel}_" if keyword.iskeyword(camel) else camel


def _part_name(of_class: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "_", of_class.rstrip("_")).lower()


@cache
def modules(package: str) -> tuple[str, ...]:
    """The public modules of a package, sorted, without importing one of `dml`."""
    return tuple(sorted(path.stem for folder in _folders(package) for path in folder.glob("[!_]*.py")))


@cache
def names(package: str) -> tuple[str, ...]:
    """The names of all parts in a package such as `"dml.losses"`, sorted, without importing it."""
    return tuple(sorted(_parts(package)))


def states(package: str, name: str, pattern: str) -> bool | None:
    """Whether a regular expression fits the text of a module or of a part; None if there is neither."""
    files = [file for folder in _folders(package) for file in folder.glob(f"{name}.py")]
    text = files[0].read_text(encoding="utf-8") if files else _parts(package).get(name, ("", None))[1]
    return None if text is None else bool(re.search(pattern, text, re.MULTILINE))


@cache
def _parts(package: str) -> dict[str, tuple[str, str]]:
    """The module and the text of each part."""
    parts: dict[str, tuple[str, str]] = {}
    for file in sorted(file for folder in _folders(package) for file in folder.glob("[!_]*.py")):
        classes = {match[1]: match[0] for match in CLASS.finditer(file.read_text(encoding="utf-8"))}
        family = [name for name, text in classes.items() if package in KINDS and VERSION.search(text)]
        if (eponym := class_name(file.stem)) in classes:
            parts[file.stem] = file.stem, classes[eponym]
        elif len(family) > 1:
            parts |= {_part_name(name): (file.stem, classes[name]) for name in family}
    return parts


def _folders(package: str) -> list[Path]:
    if package not in sys.modules and package.startswith("dml."):
        return [Path(__file__).parent.joinpath(*package.split(".")[1:])]
    return [Path(folder) for folder in importlib.import_module(package).__path__]


def check_name(package: str, name: str) -> None:
    """Raise the ValueError of `find` for a name that `package` lacks, without importing it."""
    if is_foreign(name):
        return
    is_public = name.isidentifier() and not name.startswith("_")
    has_class = states(package, name, rf"^class {class_name(name)}\b") if is_public else None
    if has_class or (has_class is None and name in names(package)):
        return
    kind, like = package.removeprefix("dml.").replace(".", " "), suggestion(name, names(package))
    if has_class is None:
        raise ValueError(f"{kind}: unknown name {name!r}{like}")
    file = f"{package.replace('.', '/')}/{name}.py"
    raise ValueError(f"{kind}: {name!r} is not a part: {file} has no class {class_name(name)}{like}")


def find(package: str, name: str) -> type:
    """The class of a part."""
    check_name(package, name)
    kind = package.removeprefix("dml.").replace(".", " ")
    if is_foreign(name):
        return import_class(name, kind)
    part = _part(package, name)  # without importing the other parts
    version = getattr(part, "version", None)
    if package in KINDS and not isinstance(version, int):
        raise ValueError(
            f"{kind} {name!r}: expected an integer `version` in the class {part.__name__} in "
            f"{package.replace('.', '/')}/{name}.py (1 at first), got {version!r}"
        )
    return part


def import_class(path: str, label: str) -> type:
    """The class at a dotted path."""
    module, _, attribute = path.rpartition(".")
    try:
        part = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:  # TypeError: the path begins with a dot
        raise ValueError(f"{label}: the dotted path {path!r} cannot be imported: {error}") from error
    if not isinstance(part, type):
        raise ValueError(f"{label}: {path!r} is a {type(part).__name__}, expected a class")
    return part


def is_foreign(name: str) -> bool:
    """Whether a name is a dotted path to a class of another package."""
    return "." in name


def suggestion(given: str, choices: Iterable[str]) -> str:
    """The end of an error message: the choice nearest to `given`, then all choices, of very many those most like it."""
    choices = list(choices)
    close = difflib.get_close_matches(given, choices, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    if len(choices) <= MANY:
        return f"{hint} Choices: {', '.join(choices)}"
    near = difflib.get_close_matches(given, choices, n=LIKE, cutoff=0)
    return f"{hint} Choices: {', '.join(near)} and {len(choices) - LIKE} more"


def settings_of(part: type) -> dict[str, inspect.Parameter]:
    """The settings that a part's constructor names; empty if it takes any keyword, or has no constructor of its own."""
    return {
        name: parameter
        for name, parameter in _parameters(part).items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def defaults_of(part: type) -> dict[str, Any]:
    """The default of each setting that has one."""
    return {name: p.default for name, p in settings_of(part).items() if p.default is not p.empty}


def accepted(part: type, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the offered settings that the part's constructor names."""
    return {name: value for name, value in offered.items() if name in settings_of(part)}


def accepted_by_bases(part: type, offered: Mapping[str, Any]) -> dict[str, Any]:
    """As `accepted`, for a constructor that passes other keywords on to those of its base classes."""
    names: set[str] = set()
    for base in part.__mro__:
        if base is not object and "__init__" in vars(base):
            parameters = inspect.signature(base.__init__).parameters  # type: ignore[misc]
            names |= set(parameters)
            if all(p.kind is not p.VAR_KEYWORD for p in parameters.values()):
                break
    return {name: value for name, value in offered.items() if name in names}


def check_settings(part: type, settings: Mapping[str, Any], label: str) -> None:
    """Raise a ValueError for the first setting that `part` does not take. The message lists those that it takes."""
    choices = sorted(settings_of(part))
    takes_any = any(p.kind is p.VAR_KEYWORD for p in _parameters(part).values())
    if unknown := [key for key in settings if key not in choices and not takes_any]:
        raise ValueError(f"{label}: unknown setting {unknown[0]!r}{suggestion(unknown[0], choices)}")


def check_complete(part: type, settings: Mapping[str, Any], label: str) -> None:
    """Raise a ValueError that names the settings without a default that are missing, if there are any."""
    needed = [name for name, p in settings_of(part).items() if p.default is p.empty and name not in settings]
    if needed:
        raise ValueError(f"{label}: needs {', '.join(needed)}")


def check_types(part: type, settings: Mapping[str, Any], label: str) -> None:
    """Raise a ValueError for the first number, text or truth value that the annotation of its setting does not allow.

    Other values are not checked, nor are annotations other than plain types, sequences and mappings.
    """
    for key, value in settings.items():
        hint = _annotations(part).get(key)
        kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        kinds = tuple(typing.get_origin(kind) or kind for kind in kinds)
        if not isinstance(value, bool | Real | str) or not set(kinds) <= set(WORDS):
            continue
        if not isinstance(value, tuple(PLAIN[kind] for kind in kinds if kind in PLAIN)) or (
            isinstance(value, bool) and bool not in kinds
        ):
            expected = " or ".join(WORDS[kind] for kind in kinds)
            quotes = " (text has quotes)" if str in kinds and not isinstance(value, str) else ""
            raise ValueError(f"{label}: {key}: expected {expected}, got {value!r}{quotes}")


@cache
def _annotations(part: type) -> Mapping[str, Any]:
    """Of a part's constructor; none if one of them has no meaning outside of its module."""
    try:
        return typing.get_type_hints(part.__init__)  # type: ignore[misc]
    except NameError:
        return {}


@cache
def _parameters(part: type) -> Mapping[str, inspect.Parameter]:
    """Of its constructor. A study asks for those of one class hundreds of times."""
    if not any("__init__" in vars(base) for base in part.__mro__ if base is not object):
        return {}
    return inspect.signature(part).parameters


def build(package: str, name: str, /, **settings: Any) -> Any:
    """Construct a part by name."""
    part = find(package, name)
    label = f"{package.removeprefix('dml.')} {name!r}"
    check_settings(part, settings, label=label)
    check_complete(part, settings, label)
    try:
        built = part(**settings)
    except TypeError:
        check_types(part, settings, label)  # of a part that has no check of its own
        raise
    check_types(part, settings, label)
    return built


def version_of(package: str, name: str) -> int | str:
    """What identifies a part's numbers: its own `version`, or for a foreign part `distribution==version`.

    The latter is followed by the part's own `version` if it states one: a module that is not installed has no other.
    """
    part: Any = find(package, name)
    if not is_foreign(name):
        return part.version
    version = getattr(part, "version", None)
    return f"{package_version(name)}, version {version}" if isinstance(version, int) else package_version(name)


@cache
def package_version(dotted: str) -> str:
    """`distribution==version` of the top-level package of a dotted path; `unknown` if it is not installed as one."""
    distributions = importlib.metadata.packages_distributions().get(dotted.split(".", 1)[0], [])
    return ",".join(f"{name}=={importlib.metadata.version(name)}" for name in sorted(set(distributions))) or "unknown"


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package of parts: each part's class, imported on first use.

    Use as `__getattr__, __dir__ = discovery.lazy(__name__)` at the end of the package's `__init__.py`. The stub file
    `__init__.pyi` beside it says the same to a type checker; `python -m dml.discovery` writes it.
    """

    def get(attribute: str) -> Any:
        for name in (*names(package), *modules(package)):
            if class_name(name) == attribute:
                return _part(package, name) if name in names(package) else getattr(_module(package, name), attribute)
        raise AttributeError(f"module {package!r} has no attribute {attribute!r}")

    def directory() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *map(class_name, names(package))})

    return get, directory


def stub(package: str) -> str:
    """The text of a package's `__init__.pyi`: what it exports itself (`__all__`), and the class of each part."""
    module = importlib.import_module(package)
    exports = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    imports = [(value.__module__, name) for name, value in exports.items() if not inspect.ismodule(value)]
    imports += [(f"{package}.{_parts(package)[name][0]}", class_name(name)) for name in names(package)]
    lines = [f"from {origin} import {name} as {name}" for origin, name in sorted(imports) if origin != package]
    signatures = _signatures(module, {name for origin, name in imports if origin == package})
    return "\n".join(["# Written by `python -m dml.discovery`.", *lines, *signatures]) + "\n"


def _signatures(module: types.ModuleType, functions: set[str]) -> list[str]:
    """The functions that a module defines, without their bodies, and the imports that their annotations need."""
    source = inspect.getsource(module)
    tree, lines = ast.parse(source), source.splitlines()
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in functions]
    heads = ["\n".join(lines[node.lineno - 1 : node.body[0].lineno - 1]) + " ..." for node in defined]
    used = {word.id for word in ast.walk(ast.parse("\n".join(heads))) if isinstance(word, ast.Name)}
    imports = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if (alias.asname or alias.name) in used]
            imports += [ast.unparse(node)] * bool(node.names)
    return [*imports, *([""] * bool(heads and imports)), *heads]


def _part(package: str, name: str) -> type:
    return getattr(_module(package, name), class_name(name))


def _module(package: str, name: str) -> Any:
    is_file = any((folder / f"{name}.py").is_file() for folder in _folders(package))
    return importlib.import_module(f"{package}.{name if is_file else _parts(package).get(name, (name,))[0]}")


def main() -> None:
    """Write the stub file of every package of parts."""
    for package in KINDS:
        root = importlib.import_module(package)
        with open(f"{root.__path__[0]}/__init__.pyi", "w", encoding="utf-8") as file:
            file.write(stub(package))


SPECIAL = ("__call__", "__iter__", "__next__")


def members(protocol: type) -> tuple[str, ...]:
    """The names that a protocol declares, sorted."""
    defined = {name for name in vars(protocol) if not name.startswith("_") or name in SPECIAL}
    return tuple(sorted(defined | set(protocol.__annotations__)))


def check_class(part: type, protocol: type, label: str) -> None:
    """Raise a ValueError that lists the class attributes and methods that `part` lacks.

    Properties of the protocol may be set by the constructor: `check_object` checks them.
    """
    annotations = protocol.__annotations__
    stated = [m for m in members(protocol) if callable(vars(protocol).get(m)) or "ClassVar" in str(annotations.get(m))]
    _check(part, stated, protocol, label)


def check_object(part: Any, protocol: type, label: str) -> None:
    """Raise a ValueError that lists the members that `part` lacks."""
    _check(part, members(protocol), protocol, label)


def _check(part: Any, required: Iterable[str], protocol: type, label: str) -> None:
    if missing := [name for name in required if not hasattr(part, name)]:
        raise ValueError(f"{label} lacks {', '.join(missing)}, which dml.protocols.{protocol.__name__} requires")


if __name__ == "__main__":
    main()
