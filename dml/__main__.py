"""`dml` and `python -m dml`."""

import sys


def main() -> None:
    """Run the command line, or say what to install."""
    try:
        from dml.cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "dml":
            raise
        sys.exit(
            f"error: the command line needs the package {error.name}, which is not installed here. "
            'Install everything: pip install "noisy-dml[pipeline]". Losses, miners, filters, noise and the audit need '
            "no more than `import dml`."
        )
    run()


if __name__ == "__main__":
    main()
