"""The command line `dml`: a thin layer over the other rooms. Nothing heavy is imported before a command runs."""
