"""Pages that are made of files outside docs/: README, the contributing guide, the changelog, the small sweep."""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
FILES = ("LICENSE", "CITATION.cff")


def on_files(files, config):
    """Add them, with links as they are from docs/."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, target in PAGES.items():
            text = text.replace(f"]({other}", f"]({target}")
        files.append(File.generated(config, page, content=text))
    for name in FILES:
        files.append(File.generated(config, name, content=(ROOT / name).read_bytes()))
    code = (ROOT / "docs/tiny/tiny_dml.py").read_text(encoding="utf-8")
    text = f"# The sweep in 150 lines\n\n[tiny_dml.py](tiny/tiny_dml.py), to read and to run.\n\n```python\n{code}```\n"
    files.append(File.generated(config, "tiny.md", content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links to a folder or a file of the repository that the site does not have lose their link."""

    def linked(match):
        label, target = match.groups()
        if target == "results":
            return f"[{label}](results/README.md)"
        return (
            f"`{label.strip('`')}`" if target.startswith("../") and _outside(page.file.src_path, target) else match[0]
        )

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)\)", linked, markdown)


def _outside(source, target):
    return not (ROOT / "docs" / source).parent.joinpath(target).resolve().is_relative_to(ROOT / "docs")


def on_post_page(output, page, config):
    """Code that scrolls sideways can be reached by the keyboard: the block scrolls, not the theme's element in it."""
    return re.sub(r"<pre([^>]*)>(?=(<span></span>)?<code)", r'<pre\1 tabindex="0">', output)
