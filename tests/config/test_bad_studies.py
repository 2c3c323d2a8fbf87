"""Wrong studies, each named with its line and key.

A file of `tests/bad_studies` has a study that is right, then documents that are wrong: each is added to the right one,
whose keys it replaces; `# whole` is a study of its own. `#!` stands on each line that an error names, before what the
error says there.
"""

import re
from pathlib import Path

import pytest

from dml.config import ConfigError, load_study

FILES = sorted((Path(__file__).parents[1] / "bad_studies").glob("*.yaml"))
KEY = re.compile(r"\w+(?=:)")
WHOLE = "# whole\n"


def composed(base: str, document: str) -> str:
    """The wrong study: the base without the keys of the document, and the document."""
    if document.startswith(WHOLE):
        return document.removeprefix(WHOLE)
    keys = {found[0] for line in document.splitlines() if (found := KEY.match(line))}
    kept, key = [], ""
    for line in base.splitlines():
        key = found[0] if (found := KEY.match(line)) else key
        kept += [] if key in keys else [line]
    return "\n".join([*kept, document])


def cases():
    for path in FILES:
        base, *documents = path.read_text(encoding="utf-8").split("\n---\n")
        for number, document in enumerate(documents, 1):
            yield pytest.param(composed(base, document), id=f"{path.stem}-{number}")


@pytest.mark.parametrize("text", cases())
def test_each_mistake_is_named_with_its_line(tmp_path, text):
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    expected = {number: line.split("#! ")[1] for number, line in enumerate(text.splitlines(), 1) if "#! " in line}
    assert expected
    with pytest.raises(ConfigError) as caught:
        load_study(tmp_path / "mine.yaml")
    said: dict[int, str] = {}
    for message in str(caught.value).splitlines():
        found = re.search(r"mine\.yaml:(\d+): (.*)", message)
        assert found, message
        said[int(found[1])] = said.get(int(found[1]), "") + found[2]
    assert said.keys() == expected.keys(), caught.value
    for number, parts in expected.items():
        assert [part for part in parts.split(" | ") if part not in said[number]] == []
