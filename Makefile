# The commands of the project: `make repro` rebuilds the results, `make test` runs the tests. Both create .venv if needed.
# `dml` has more of them (docs/commands.md).

PYTHON ?= python3
EXTRAS ?= pipeline,dev
VENV := $(CURDIR)/.venv
STAMP := $(VENV)/.installed-$(EXTRAS)
export PATH := $(VENV)/bin:$(PATH)

# Two test files at a time, each on one thread, so that numbers do not depend on the number of cores. Files with slow tests
# come first (tests/conftest.py); by itself xdist would begin with those that have the most tests. Compiled files are kept,
# also where the environment says otherwise: without them each worker spends 10 s more on 400 files of tests.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help setup repro audit report publish test test-fast test-slow lint docs bench ui why stubs status clean

help:  ## list all commands
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## create the environment in .venv (about 3 minutes and 6.7 GB, only once)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, {sys.executable} is {v[0]}.{v[1]}: choose another one with make PYTHON=...")'
	@echo "Setting up .venv: about 3 minutes, 6.7 GB"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

repro: setup  ## run the studies of params.yaml and write report/index.html; STUDY="a b" chooses others, STUDY=paper-eps a paper's
	@dml run $(STUDY)

audit: setup  ## find wrong labels of STUDY: audit/STUDY/index.html; REVIEW=file.csv takes a review in, REVIEW_SIZE=200 images to look at
	@dml audit $(or $(STUDY),$(error name a study: make audit STUDY=my-images)) $(if $(REVIEW),--review "$(REVIEW)") $(if $(REVIEW_SIZE),--review-size $(REVIEW_SIZE))

report: setup  ## write report/index.html from the results here and the published ones, without training
	@dml report

publish: setup  ## publish the results of STUDY in docs/results, for clones to show without training
	@dml publish $(or $(STUDY),$(error name a study: make publish STUDY=eps-table1))

test: setup  ## run the tests, but for what `make test-slow` runs
	@$(PYTEST) -m "not minutes" $(ARGS)

test-slow: setup  ## run the tests that need a browser, a wheel, notebooks, the site, a database server, DVC or minutes
	@$(PYTEST) -m minutes $(ARGS)

test-fast: setup  ## run the four fifths of the tests that take least
	@$(PYTEST) -m "not slow" $(ARGS)

lint: setup  ## run the linters, the type checker, the import rules and those of documents
	@ruff check .
	@ruff format --check .
	@mypy
	@lint-imports --no-logo
	@python pipelines/documents.py

docs: setup  ## build the documentation site in site/; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet
	@echo "Open site/index.html"

bench: setup  ## write docs/benchmarks: measurements compared with other libraries (about an hour on an idle machine)
	@for part in losses data evaluation sweep frozen partial filters; do python benchmarks/$$part.py --out docs/benchmarks/$$part.md; done
	@python benchmarks/loop.py | tee docs/benchmarks/loop.md

ui: setup  ## browse the runs in MLflow
	@dml ui

why: setup  ## show why the trials of STUDY run again: what differs from earlier trials
	@dml why $(or $(STUDY),$(error name a study: make why STUDY=quickstart))

stubs: setup  ## write the type stubs of all parts and the reference of settings (after adding one)
	@python -m dml.discovery
	@python -m dml.config.schema

status: setup  ## show the progress of sweeps
	@dml status

clean: setup  ## delete the outputs of the stages (finished trials in store/, .venv and files of yours stay)
	@python pipelines/clean.py
