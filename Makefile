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
BENCH_ARGS ?=
DEMO_ARGS ?=
E2E_TESTS ?= tests/e2e

BIN := .venv/bin
SYNCED := .venv/.synced
# Spark is half a gigabyte: only what needs it fetches it.
SYNCED_PIPELINE := .venv/.synced-pipeline
PYTEST := $(BIN)/python -m pytest $(PYTEST_ARGS)
COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-emit-find-links --no-annotate

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Targets that share .venv or the cores (tests, benchmarks) must not run side by side.
.NOTPARALLEL:

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

##### use

.PHONY: run demo
run: $(SYNCED) ## a whole cluster in one process on 127.0.0.1:9092 (PORT=...)
	PYTHONDONTWRITEBYTECODE= $(BIN)/barnabas up --port $(PORT)

demo: $(SYNCED_PIPELINE) ## a cluster, a stream of orders and a Spark pipeline, live; a plot at the end (DEMO_ARGS="--seconds 20")
	$(BIN)/python -m tools.demo $(DEMO_ARGS)

##### checks

.PHONY: test ci lint type imports unit protocol integration compat pipeline sim soak fuzz
test: $(SYNCED_PIPELINE) lint type imports ## everything a change must pass: lint, types, layers and every test
	$(PYTEST)

# Not a prerequisite: the clock starts with the first of it, and the cluster comes last.
ci: ## what .ci/run calls: `make test`, then the short path of `make e2e` where the machine can
	begun=$$(date +%s) && $(MAKE) test && $(BIN)/python -m tools.kube smoke $$begun

lint: $(SYNCED) ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(SYNCED_PIPELINE) ## mypy --strict on code, tests and tools
	$(BIN)/mypy

imports: $(SYNCED) ## import-linter: the layers, and what decision code may not import
	$(BIN)/lint-imports --no-logo

protocol integration compat: $(SYNCED)
unit pipeline: $(SYNCED_PIPELINE)
unit protocol integration compat pipeline:
	$(PYTEST) tests/$@

unit: ## tests of single parts
protocol: ## the codec against bytes written by Kafka's own implementation
integration: ## our parts together, real clients in process
compat: ## against Apache Kafka itself, its tools and kcat (fetches them)
pipeline: ## real Spark on a real cluster, and on Apache Kafka (fetches them)

sim: $(SYNCED) ## simulations, one per seed (PROFILE=raft SEEDS=1000; 300 for controller, cluster and groups)
	$(BIN)/python -m tests.sim --profile $(PROFILE) --seeds $(SEEDS) --first-seed $(FIRST_SEED)

soak: $(SYNCED_PIPELINE) ## the long counts: more crash points and examples, ten minutes of fuzzing
	BARNABAS_SOAK=1 BARNABAS_CRASH_SEEDS=$(SOAK_CRASH_SEEDS) \
		$(PYTEST) -o timeout=3600 -o faulthandler_timeout=4000
	$(MAKE) sim SEEDS=10000
	$(MAKE) sim PROFILE=controller SEEDS=300
	$(MAKE) sim PROFILE=cluster SEEDS=300
	$(MAKE) sim PROFILE=groups SEEDS=300
	$(MAKE) fuzz FUZZ_SECONDS=600

fuzz: $(SYNCED) ## coverage-guided fuzzing of the decoder (FUZZ_SECONDS=60)
	$(BIN)/python tests/fuzz/fuzz_wire.py --seconds $(FUZZ_SECONDS)

##### Kubernetes (docs/testing-kubernetes.md)

.PHONY: kube e2e e2e-smoke e2e-down images
kube: $(SYNCED) ## against a real Kubernetes API without nodes (builds it: a quarter of an hour, once)
	BARNABAS_KUBERNETES=1 $(PYTEST) -o timeout=3600 -o faulthandler_timeout=4000 tests/kube

e2e: $(SYNCED) ## on a real kind cluster, made for it and removed after it (E2E_KEEP=1 leaves it)
	$(BIN)/python -m tools.kube e2e $(E2E_TESTS) $(PYTEST_ARGS)

e2e-smoke: ## the short path of it
	$(MAKE) e2e E2E_TESTS="tests/e2e -m smoke"

e2e-down: $(SYNCED) ## remove the cluster and the private docker that `make e2e E2E_KEEP=1` left
	$(BIN)/python -m tools.kube down

images: $(SYNCED) ## the container images, from wheels made here, and their sizes
	$(BIN)/python -m tools.kube images

##### measurements

.PHONY: bench bench-groups bench-pipeline bench-core
bench: $(SYNCED) ## Apache Kafka 4.3.1 beside it, ten minutes; fills docs/benchmarks.md (BENCH_ARGS="--only latency --quick")
	$(BIN)/python -m bench.compare $(BENCH_ARGS)

bench-groups: $(SYNCED) ## groups beside Apache Kafka 4.3.1, twelve minutes; fills docs/benchmarks.md (BENCH_ARGS="--only settle --quick")
	$(BIN)/python -m bench.groups $(BENCH_ARGS)

bench-core: $(SYNCED) ## codec, record batches, log engine and server; fills docs/benchmarks.md
	$(BIN)/python -m bench.core

bench-pipeline: $(SYNCED_PIPELINE) ## Spark from topics to Parquet, from Barnabas and from Apache Kafka; fills docs/benchmarks.md
	$(BIN)/python -m bench.pipeline $(BENCH_ARGS)
	$(BIN)/python -m bench.pipeline_segments $(BENCH_ARGS)

##### upkeep

.PHONY: gen lock fetch clean
gen: $(SYNCED_PIPELINE) ## regenerate the message classes, the links' protobufs, the operator's definitions and docs
	$(BIN)/python tools/gen_messages.py
	$(BIN)/python tools/gen_protos.py
	$(BIN)/python tools/gen_configuration_doc.py
	$(BIN)/python tools/gen_metrics_doc.py
	$(BIN)/python -m tools.gen_pipeline_doc
	$(BIN)/python tools/gen_resources.py

lock: $(SYNCED) ## renew the pinned versions in requirements/
	$(COMPILE) --extra dev --extra operator pyproject.toml -o requirements/dev.txt
	$(COMPILE) --extra pipeline -c requirements/dev.txt pyproject.toml -o requirements/pipeline.txt
	$(COMPILE) -c requirements/dev.txt pyproject.toml requirements/image.in -o requirements/image.txt
	$(COMPILE) -c requirements/dev.txt --extra operator pyproject.toml requirements/image.in \
		-o requirements/image-operator.txt
	$(COMPILE) -c requirements/dev.txt requirements/image-client.in -o requirements/image-client.txt
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
	@$(BIN)/python -m compileall -q core broker controller coordinator operator embedded
	@touch $@

$(SYNCED_PIPELINE): requirements/pipeline.txt $(SYNCED)
	@echo ">> .venv: the packages of requirements/pipeline.txt, Spark among them (500 MB, minutes the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/pipeline.txt
	@touch $@
