"""The command line `dml`: a thin layer over the other rooms, one command a file.

`dml --help` lists the commands, docs/commands.md describes them. Nothing heavy is imported before a command runs.
"""
