"""`dml doctor`: is everything here that studies need?"""

from __future__ import annotations

import typer


def doctor() -> None:
    """Check this machine: Python, packages, GPU, disk, memory, and the services that the environment names.

    The exit code is 1 if something is missing that studies need.

    [bold]Example[/bold]: dml doctor
    """
    from dml.cli.health import findings

    failed = 0
    for finding in findings():
        state = "ok" if finding.ok else "missing" if finding.needed else "absent"
        print(f"{state:<8} {finding.name:<16} {finding.text}", flush=True)
        if not finding.ok and finding.remedy:
            print(f"{'':<25} -> {finding.remedy}", flush=True)
        failed += finding.needed and not finding.ok
    if failed:
        print(f"\n{failed} missing")
        raise typer.Exit(1)
    print("\neverything that studies need is here")
