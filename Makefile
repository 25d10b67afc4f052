# `make demo` and `make test` set everything up by themselves; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.synced
# uv from the PATH, else one of our own in the clone
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
PYTHON ?= python3

.PHONY: help setup demo lint test validate bench-cell bench-bootstrap bench-read bench-observed lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.uv/bin/uv:
	@echo "uv is not on the PATH: installing it into .uv"
	$(PYTHON) -m venv .uv
	.uv/bin/python -m pip install --quiet --disable-pip-version-check uv

$(STAMP): requirements.lock pyproject.toml .python-version | $(filter .uv/bin/uv,$(UV))
	$(UV) venv --quiet --allow-existing $(VENV)
	UV_COMPILE_BYTECODE=1 $(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	UV_COMPILE_BYTECODE=1 $(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

setup: $(STAMP) ## create .venv with the locked packages

demo: $(STAMP) ## the main job on the bundled cohort, with a report
	$(BIN)/fourcorner demo

lint: $(STAMP) ## style, types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyrefly check
	$(BIN)/lint-imports

test: lint ## lint, then the tests
	$(BIN)/python -m pytest -n 2

validate: $(STAMP) ## the long simulation studies; commit what they write
	$(BIN)/python -m benchmarks.validate_intervals
	$(BIN)/python -m benchmarks.validate_cell
	$(BIN)/python -m benchmarks.validate_audits

# bambi lives in an environment of its own: the locked one stays as locked
.bench/.synced: $(STAMP)
	$(UV) venv --quiet --allow-existing --python $(BIN)/python .bench
	UV_COMPILE_BYTECODE=1 $(UV) pip sync --quiet --python .bench/bin/python --require-hashes requirements.lock
	UV_COMPILE_BYTECODE=1 $(UV) pip install --quiet --python .bench/bin/python --editable . bambi
	@touch $@

bench-cell: .bench/.synced ## speed of the cell model beside bambi and plain PyMC
	.bench/bin/python -m benchmarks.cell_model

bench-bootstrap: $(STAMP) ## speed of the shared bootstrap beside SciPy's
	$(BIN)/python -m benchmarks.bootstrap

bench-read: $(STAMP) ## 10 million rows read in a memory limit, beside DuckDB's own group-by
	$(BIN)/python -m benchmarks.read_scores

bench-observed: $(STAMP) ## sampling with missing cells beside the complete cohort
	$(BIN)/python -m benchmarks.observed

lock: | $(filter .uv/bin/uv,$(UV)) ## renew requirements.lock
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --group dev -o requirements.lock

clean: ## remove what make made
	rm -rf $(VENV) .bench .uv dist
