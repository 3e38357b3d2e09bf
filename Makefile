.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3.11
BIN := .venv/bin
SCALE ?= cpu
ARMS ?= rounds
SUBJECT ?= retriever
export PATH := $(CURDIR)/$(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
export MLFLOW_DISABLE_TELEMETRY := true
export PYTHONDONTWRITEBYTECODE :=  # a stage is a process: compiling its libraries anew takes it longer than its work

help: ## show this help
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(BIN)/.installed ## install everything from the lock into .venv

$(BIN)/.installed: requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade 'pip>=26' 'setuptools>=77' uv
	$(BIN)/pip install --quiet "$$(grep '^torch==' requirements.lock)"  # pip finds a local CPU build, uv would not
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

repro: setup ## run the pipeline: what is up to date is not run again
	$(BIN)/dvc pull --quiet data.dvc
	$(BIN)/lean-finder params check
	$(BIN)/dvc repro
	$(BIN)/lean-finder report

params: setup ## write params.yaml: make params SCALE=cpu ARMS=rounds
	$(BIN)/lean-finder params compose scale=$(SCALE) arms=$(ARMS)

ablations: setup ## run the arms of the paper's Tables 7 and 9 as well; the table: reports/ABLATIONS.md
	$(BIN)/dvc pull --quiet data.dvc
	$(BIN)/dvc exp run -S scale=$(SCALE) -S arms=ablations
	cp reports/RESULTS.md reports/ABLATIONS.md
	cp reports/results.json reports/ablations.json

tune: setup ## search for better retriever settings on validation: make tune SUBJECT=generator
	$(BIN)/lean-finder tune $(SUBJECT)

test: setup ## run the tests, the whole DAG at scale smoke among them
	$(BIN)/dvc pull --quiet data.dvc
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-slow: setup ## what takes longer: a real model server under faults
	$(BIN)/python -m pytest -m slow

lint: setup ## ruff, mypy, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check-lock: setup ## does dvc.lock match code and parameters? (needs no data)
	test -z "$$($(BIN)/dvc repro --dry --allow-missing | grep 'Running stage' | tee /dev/stderr)"

report: setup ## print the results table
	$(BIN)/lean-finder report

ui: setup ## open the experiments in MLflow
	$(BIN)/mlflow server --backend-store-uri "$${MLFLOW_TRACKING_URI:-sqlite:///mlflow.db}" --port 5000

bench: setup ## measure the core paths against named peers
	for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

lock: setup ## resolve requirements.lock again
	$(BIN)/uv pip compile pyproject.toml --extra dev -o requirements.lock --python-version 3.11 \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet
	sed -i 's/^torch==\([0-9.]*\)+cpu/torch==\1/' requirements.lock

clean: ## remove every product of the pipeline (the data and the environment stay)
	rm -rf artifacts reports/report.html reports/audit/docs mlflow.db mlruns .dvc/cache/runs

.PHONY: help setup repro params ablations tune test test-slow lint format check-lock report ui bench lock clean
