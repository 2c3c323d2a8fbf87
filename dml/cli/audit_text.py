"""What `dml audit` says of an audit, and the study that it writes. Imports nothing that takes long."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dml import files

if TYPE_CHECKING:
    from dml.config import Study

WROTE = "`dml audit` wrote this."
CHOICES = {
    "given": "labels as given",
    "left-out": "the suspects are left out",
    "suggested": "the suspects get the label that they look like",
    "reviewed": "the suspects are left out, and what a person looked at is as the person said",
}


def lines(content: Mapping[str, Any]) -> list[str]:
    """A summary as lines of text."""
    rate, review = content["rate"], content["review"]
    text = [
        f"{content['images']} images of {content['classes']} classes ({content['labels']}), judged by "
        f"{content['representation']}: {content['suspects']} suspects, "
        f"{content['contradicting_duplicates']} pairs of near-duplicates with different labels"
    ]
    if content["beyond_judgement"]:
        few = list(content["beyond_judgement"])
        text.append(f"beyond judgement, with 1 or 2 images: {', '.join(few[:5])}{', ...' if len(few) > 5 else ''}")
    if review is None:
        warning = f"; {rate['warning']}" if rate.get("warning") else ""
        text.append(f"about {rate['guess']:.1%} of the labels are wrong: a guess without an interval{warning}")
    else:
        text.append(
            f"{review['rate']:.1%} of the labels are wrong, {review['level']:.0%} interval {review['low']:.1%} to "
            f"{review['high']:.1%} ({review['looks']} looks; the first guess was {rate['guess']:.1%})"
        )
    if measured := content["measured"]:
        text.append(
            f"against verified labels: {measured['rate']:.1%} are wrong; AUROC {measured['auroc']:.3f}, average "
            f"precision {measured['average_precision']:.3f}, precision at the true count {measured['precision']:.3f}"
        )
    return [*text, *content.get("data", ()), *filter(None, [content["note"]])]


def comparing(study: Study, dataset: str, labels: list[Path]) -> str:
    """The text of a study that compares training on labels as given with training on each of the label files.

    Labels as given are the noise `uniform` at rate 0, whose trials the study may have, unless it has verified labels.
    """
    verified = any(noise.by_given for noise in study.noise)
    as_given = "label_file:given" if verified else "uniform"
    labels = [path for path in labels if verified or path.stem != "given"]
    noise: list[dict[str, Any]] = [] if verified else [{"name": "uniform", "rates": [0.0]}]
    noise += [
        {"name": "label_file", "id": path.stem, "rates": [0.0], "settings": {"path": path.as_posix()}}
        for path in labels
    ]
    content: dict[str, Any] = {
        "extends": study.name,
        "title": f"{study.title}: what the audit found",
        "description": "; ".join(f"{path.stem}: {CHOICES[path.stem]}" for path in labels) + ".",
        "noise": noise,
        "compare": [
            {
                "text": f"Training is better if {CHOICES[path.stem]} than with labels as given.",
                "first": {"noise": f"label_file:{path.stem}"},
                "second": {"noise": as_given},
            }
            for path in labels
            if path.stem != "given"
        ],
        **({"reference_values": None} if study.reference_values else {}),
        **({"audit": None} if study.audit is not None else {}),
    }
    if len(study.datasets) > 1:
        content["datasets"] = [study.dataset(dataset).model_dump(mode="json", exclude_defaults=True)]
    text = files.yaml_text(content, allow_unicode=True, width=120)
    return f"# Labels of {study.name} as given, and after its audit (docs/audit.md). {WROTE} {_digest(text)}\n{text}"


def is_edited(text: str) -> bool:
    """Whether a study differs from what `comparing` wrote."""
    head, _, body = text.partition("\n")
    return head.partition(WROTE)[2].strip() != _digest(body)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
