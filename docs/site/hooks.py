"""Pages made of other files: README, the contributing guide, the changelog, the small sweep, notebooks, snapshots."""

import re
import sys
from pathlib import Path

import nbformat
from mkdocs.structure.files import File
from nbconvert import MarkdownExporter

from dml.pipeline.publish import results_page

sys.path.insert(0, str(Path(__file__).parent))
import gallery

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
FILES = ("LICENSE", "CITATION.cff")


def on_config(config):
    """The pages of benchmarks, under Results."""
    (results,) = (entry["Results"] for entry in config.nav if "Results" in entry)
    (benchmarks,) = (entry["Benchmarks"] for entry in results if "Benchmarks" in entry)
    written = sorted((ROOT / "docs/benchmarks").glob("[a-z]*.md"))
    benchmarks += [f"benchmarks/{path.name}" for path in written if f"benchmarks/{path.name}" not in benchmarks]
    return config


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
    built = (gallery.REPORT / "index.html").is_file()
    results = results_page()
    for page, content in {"results.md": results, "gallery.md": gallery.page(results, built)}.items():
        files.append(File.generated(config, page, content=content))
    for path in sorted(gallery.REPORT.rglob("*")) if built else ():
        if path.is_file():
            name = f"report/{path.relative_to(gallery.REPORT).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    for notebook in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        for page in _pages_of(notebook, config):
            files.append(page)
    return files


def _pages_of(path, config):
    """A notebook as a page, with the pictures that it shows."""
    book = nbformat.read(path, as_version=4)
    text, resources = MarkdownExporter().from_notebook_node(book)
    for cell in book.cells:
        if "alt" in cell.metadata:  # a cell draws one picture
            text = text.replace("![png](", f"![{cell.metadata['alt']}]({path.stem}-", 1)
    title, _, rest = text.partition("\n")
    yield File.generated(config, f"notebooks/{path.stem}.md", content=f"{title}\n\n[The notebook]({path.name})\n{rest}")
    for name, picture in resources["outputs"].items():
        yield File.generated(config, f"notebooks/{path.stem}-{name}", content=picture)


def on_page_markdown(markdown, page, config, files):
    """Links to a folder or a file of the repository that the site does not have lose their link."""

    def linked(match):
        label, target = match.groups()
        if target == "results":
            return f"[{label}](results/README.md)"
        if target.removeprefix("../") in PAGES and "/" not in page.file.src_path:
            return f"[{label}]({PAGES[target.removeprefix('../')]})"
        return (
            f"`{label.strip('`')}`" if target.startswith("../") and _outside(page.file.src_path, target) else match[0]
        )

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)\)", linked, markdown)


def _outside(source, target):
    return not (ROOT / "docs" / source).parent.joinpath(target).resolve().is_relative_to(ROOT / "docs")


def on_post_page(output, page, config):
    """Code that scrolls sideways can be reached by the keyboard: the block scrolls, not the theme's element in it."""
    return re.sub(r"<pre([^>]*)>(?=(<span></span>)?<code)", r'<pre\1 tabindex="0">', output)
