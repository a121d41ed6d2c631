# The one entry point. `make run` and `make test` need Python 3.11+, make and a C compiler; everything else is fetched:
# the pinned Python packages into .venv, other tools (a Java runtime, Kafka's jars, kcat) into a cache outside this tree
# (BARNABAS_CACHE, by default ~/.cache/barnabas).

PYTHON ?= python3
PORT ?= 9092
SOAK_CRASH_SEEDS ?= 5000
FUZZ_SECONDS ?= 60
PROFILE ?= raft
SEEDS ?= 1000
FIRST_SEED ?= 0
PYTEST_ARGS ?=

BIN := .venv/bin
SYNCED := .venv/.synced
PYTEST := $(BIN)/python -m pytest $(PYTEST_ARGS)
COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-emit-find-links --no-annotate

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Targets that share .venv or the cores (tests, benchmarks) must not run side by side.
.NOTPARALLEL:

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

##### use

.PHONY: run demo
run: $(SYNCED) ## a whole cluster in one process on 127.0.0.1:9092 (PORT=...)
	$(BIN)/barnabas up --port $(PORT)

demo: $(SYNCED) ## start a cluster, write and read a few records with confluent-kafka
	$(BIN)/python tools/demo.py

##### checks

.PHONY: test ci lint type imports unit protocol integration compat sim soak fuzz
test: lint type imports ## everything a change must pass: lint, types, layers and every test
	$(PYTEST)

ci: test ## what .ci/run calls

lint: $(SYNCED) ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(SYNCED) ## mypy --strict on code, tests and tools
	$(BIN)/mypy

imports: $(SYNCED) ## import-linter: the layers, and what decision code may not import
	$(BIN)/lint-imports --no-logo

unit protocol integration compat: $(SYNCED)
	$(PYTEST) tests/$@

unit: ## tests of single parts
protocol: ## the codec against bytes written by Kafka's own implementation
integration: ## our parts together, real clients in process
compat: ## against Apache Kafka itself, its tools and kcat (fetches them)

sim: $(SYNCED) ## simulated clusters, one per seed (PROFILE=raft SEEDS=1000 FIRST_SEED=0)
	$(BIN)/python -m tests.sim --profile $(PROFILE) --seeds $(SEEDS) --first-seed $(FIRST_SEED)

soak: $(SYNCED) ## the long counts: more crash points and examples, ten minutes of fuzzing
	BARNABAS_SOAK=1 BARNABAS_CRASH_SEEDS=$(SOAK_CRASH_SEEDS) \
		$(PYTEST) -o timeout=3600 -o faulthandler_timeout=4000
	$(MAKE) sim SEEDS=10000
	$(MAKE) fuzz FUZZ_SECONDS=600

fuzz: $(SYNCED) ## coverage-guided fuzzing of the decoder (FUZZ_SECONDS=60)
	$(BIN)/python tests/fuzz/fuzz_wire.py --seconds $(FUZZ_SECONDS)

##### measurements

.PHONY: bench bench-core
bench: bench-core ## every benchmark there is
	$(BIN)/python -m bench.records
	$(BIN)/python -m bench.server

bench-core: $(SYNCED) ## codec, record batches, log engine and server; fills docs/benchmarks.md
	$(BIN)/python -m bench.core

##### upkeep

.PHONY: gen lock fetch clean
gen: $(SYNCED) ## regenerate the message classes from the protocol table
	$(BIN)/python tools/gen_messages.py

lock: $(SYNCED) ## renew the pinned versions in requirements/
	$(COMPILE) --extra dev pyproject.toml -o requirements/dev.txt
	$(COMPILE) requirements/java.in -o requirements/java.txt
	$(COMPILE) requirements/maven.in -o requirements/maven.txt

fetch: $(SYNCED) ## fetch what `make compat` needs, ahead of it
	$(BIN)/python -m tools.fetch

clean: ## remove .venv and every cache in the tree
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# .venv follows the lock: a changed lock or pyproject syncs it again.
$(SYNCED): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		found=$$($(PYTHON) --version 2>/dev/null) || found="not there"; \
		echo "make: Barnabas needs Python 3.11 or newer, and '$(PYTHON)' is $$found." \
			"Try: make PYTHON=python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "make: '$(PYTHON)' cannot make virtual environments (on Debian: apt install python3-venv)" >&2; exit 1; }
	@echo ">> .venv: a virtual environment of $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv
	@echo ">> .venv: the packages of requirements/dev.txt (half a minute the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@echo ">> .venv: barnabas itself, from this checkout"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
