"""`dml schema`: what an editor needs to complete and check a study as it is typed."""

from __future__ import annotations

import json


def schema() -> None:
    """Print the JSON Schema of a study, with which an editor completes and checks it.

    [bold]Example[/bold]: dml schema > study.schema.json
    """
    from dml.config.schema import schema as found

    print(json.dumps(found(), indent=2))
