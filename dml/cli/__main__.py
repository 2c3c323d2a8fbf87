"""`python -m dml.cli` is `dml`."""

from dml.cli.main import main

main()
