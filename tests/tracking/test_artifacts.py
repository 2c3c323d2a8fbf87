"""The report's page in MLflow is whole in itself."""

import base64

from dml.tracking.sync import self_contained

PAGE = """<link rel="icon" href="data:,"><a class="home" href="../index.html">dml</a> <a href="#winners">winners</a>
<a href="https://example.org">paper</a> <a href="../data/a%20b.csv" download>CSV</a>
<picture><source srcset="../figures/a%20b-dark.svg"><img src="../figures/a%20b.svg" alt="A figure"></picture>
<link rel="stylesheet" href="../figures/a%20b.css"><img src="../figures/missing.png">"""


def write(tmp_path):
    (tmp_path / "figures").mkdir(exist_ok=True)
    (tmp_path / "studies").mkdir(exist_ok=True)
    for name in ("a b.svg", "a b-dark.svg", "a b.css"):
        (tmp_path / "figures" / name).write_text(f"<svg>{name}</svg>")
    path = tmp_path / "studies" / "study.html"
    path.write_text(PAGE)
    return path


def test_figures_are_inside_and_links_to_other_files_are_gone(tmp_path):
    text = self_contained(write(tmp_path))
    for name, attribute in (("a b.svg", "src"), ("a b-dark.svg", "srcset")):
        content = base64.b64encode(f"<svg>{name}</svg>".encode()).decode()
        assert f'{attribute}="data:image/svg+xml;base64,{content}"' in text
    style = base64.b64encode(b"<svg>a b.css</svg>").decode()
    assert f'<link rel="stylesheet" href="data:text/css;base64,{style}">' in text
    assert '<a class="home">dml</a> <a href="#winners">winners</a>' in text
    assert '<a href="https://example.org">paper</a> <a download>CSV</a>' in text
    assert 'src="../figures/missing.png"' in text
    assert '<link rel="icon" href="data:,">' in text
