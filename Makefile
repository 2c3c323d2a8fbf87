# Everything a newcomer needs: `make repro` rebuilds the results, `make test` runs the tests. Both set themselves up.

PYTHON ?= python3
EXTRAS ?= pipeline,dev
VENV := $(CURDIR)/.venv
STAMP := $(VENV)/.installed-$(EXTRAS)
export PATH := $(VENV)/bin:$(PATH)

# Two files of tests at a time, each on one thread: numbers do not depend on the machine's cores.
PYTEST := OMP_NUM_THREADS=1 python -m pytest -n 2 --dist loadfile

.PHONY: help setup repro test test-fast lint bench ui why stubs status clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make the environment in .venv (about 3 minutes and 6.6 GB; nothing to do: an instant)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, {sys.executable} is {v[0]}.{v[1]}: name another with make PYTHON=...")'
	@echo "Setting up .venv: about 3 minutes, 6.6 GB"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

repro: setup  ## run the studies of params.yaml to report/index.html; STUDY="a b" chooses others
	@$(if $(STUDY),python pipelines/choose.py $(STUDY))
	@dvc repro
	@python pipelines/choose.py --done

test: setup  ## run all tests, the slow ones too
	@$(PYTEST) $(ARGS)

test-fast: setup  ## run the tests that take seconds
	@$(PYTEST) -m "not slow" $(ARGS)

lint: setup  ## what CI checks beside the tests
	@ruff check .
	@ruff format --check .
	@mypy
	@lint-imports --no-logo

bench: setup  ## measure everything beside its peers, into docs/benchmarks (about an hour on a quiet machine)
	@for part in losses data evaluation sweep; do python benchmarks/$$part.py --out docs/benchmarks/$$part.md; done
	@python benchmarks/loop.py | tee docs/benchmarks/loop.md

ui: setup  ## browse the runs in MLflow
	@mlflow ui --backend-store-uri $${MLFLOW_TRACKING_URI:-sqlite:///mlflow.db}

why: setup  ## why the trials of STUDY run again: what differs from earlier ones
	@python pipelines/why.py $(or $(STUDY),$(error name a study: make why STUDY=quickstart))

stubs: setup  ## write the type stubs of all parts, after adding one
	@python -m dml.discovery

status: setup  ## how far the running sweep is
	@python -m dml.sweep.status store

clean:  ## remove what the stages made (the finished trials in store/ stay; the environment too)
	rm -rf data results report
