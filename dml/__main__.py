"""`python -m dml` is `dml`."""

from dml.cli.main import main

main()
