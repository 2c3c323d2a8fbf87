"""Stage `resolve`: write a study with everything that it takes over from the studies that it extends."""

from typing import Any

import yaml

from dml.config import Study, check_files, content_of
from dml.config.data import NETWORK
from dml.files import write_text
from dml.pipeline.folders import STUDIES, data_root


def run(study: Study) -> None:
    check_files(study, STUDIES / f"{study.name}.yaml")
    content = content_of(STUDIES / f"{study.name}.yaml")
    datasets: Any = [
        {**given, "resize": dataset.packing["resize"]}
        if isinstance(given, dict) and given.get("resize") == NETWORK
        else given
        for given, dataset in zip(content["datasets"], study.datasets, strict=True)
    ]  # so that DVC packs again for another network
    content["datasets"] = datasets
    if "class_splits" in content:  # the stage `split` depends on datasets.yaml only
        datasets = {"datasets": datasets, "class_splits": content["class_splits"]}
    for name, part in (("study", content), ("datasets", datasets)):
        text = yaml.safe_dump(part, sort_keys=False, allow_unicode=True)
        write_text(data_root(study) / f"{name}.yaml", text)
