# Every target sets up what it needs: .venv for daily work, and a .venv-* for each leg of test-all. All that must be
# there is Python 3.11 or newer, and what pip can reach.

ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
# The first of these that is new enough; `make PYTHON=/path/to/python` chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c '$(ENOUGH)' 2>/dev/null && { echo "$$p"; exit; }; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SCHEMA := schemas/mcp.schema.json
MANIFESTS := $(wildcard manifests/*/mcp.yaml)
SERVERS := $(patsubst %/app.py,%,$(wildcard manifests/*/app.py))

# The interpreter of a version, where there is one: pythonX.Y on the PATH, or pyenv's.
ASK := import sys; print(sys.executable)
find = $(shell PYENV_VERSION=$(1) python$(1) -c '$(ASK)' 2>/dev/null || python$(1) -c '$(ASK)' 2>/dev/null)
PYTHON311 ?= $(call find,3.11)
PYTHON313 ?= $(call find,3.13)

# The legs of test-all: what pip is told besides this package, and the interpreter. Where there is no Python 3.11, the
# legs that are about dependencies run on $(PYTHON); a leg that is about an interpreter is skipped without it.
LEGS := mcp-1.28.1 mcp-1 mcp-2.0.0 mcp-2 oldest py3.13
PACKAGES-mcp-1.28.1 := 'mcp==1.28.1'
PACKAGES-mcp-1 := 'mcp<2'
PACKAGES-mcp-2.0.0 := 'mcp==2.0.0'
PACKAGES-mcp-2 := 'mcp>=2'
PACKAGES-oldest := --constraint .venv-oldest/lowest.txt
PACKAGES-py3.13 := 'mcp>=2'
INTERPRETER = $(or $(PYTHON311),$(PYTHON))
test-py3.13: INTERPRETER = $(PYTHON313)

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check editors format schema clean $(LEGS:%=test-%)

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make test-LEG   One leg of test-all: $(LEGS)"

demo: $(READY) ## Run the example servers and solve their tasks over MCP and over HTTP
	@$(BIN)/python manifests/demo

test: $(READY) ## Run the tests with the newest dependencies
	@$(BIN)/python -m pytest

test-all: test $(LEGS:%=test-%) ## Run the tests with both lines of the MCP SDK, the oldest dependencies, Python 3.11 and 3.13

check: $(READY) ## Check format, lint, types, the committed schema and the manifests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --strict manifests/demo scripts/lowest.py scripts/editor_check.py
	@# Each server is an app of its own, with module names of its own.
	@set -e; for server in $(SERVERS); do echo "$(BIN)/mypy --strict $$server"; $(BIN)/mypy --strict "$$server"; done
	$(BIN)/gym-mcp schema --check $(SCHEMA)
	$(BIN)/gym-mcp validate $(MANIFESTS)

editors: $(READY) ## Check what editors make of the schema, with yaml-language-server; needs that, or npx
	@$(BIN)/python scripts/editor_check.py

format: $(READY) ## Format the code and mend what lint can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

schema: $(READY) ## Write the JSON Schema of the manifest language anew
	@$(BIN)/gym-mcp schema > $(SCHEMA).new && mv $(SCHEMA).new $(SCHEMA)

clean: ## Remove the virtual environments, caches and builds
	rm -rf .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find gym_mcp_manifest manifests scripts tests -type d -name __pycache__ -prune -exec rm -rf {} +

$(LEGS:%=test-%): test-%:
	@if [ -z "$(INTERPRETER)" ]; then \
		echo "!!!!!! SKIPPED: $@. Its Python is not on this machine. !!!!!!"; \
	else \
		$(MAKE) --no-print-directory .venv-$*/.ready PYTHON="$(INTERPRETER)" && \
		echo "== $@: $$(.venv-$*/bin/python -V), mcp $$(.venv-$*/bin/python -c 'from importlib.metadata import version; print(version("mcp"))')" && \
		.venv-$*/bin/python -m pytest -p no:cacheprovider; \
	fi

# $(call environment,FOLDER): a virtual environment with a pip that knows dependency groups. What goes into it is
# installed once, and again when pyproject.toml changes.
define environment
	@$(PYTHON) -c '$(ENOUGH)' || { \
		echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not that; try: make PYTHON=python3.11" >&2; exit 1; }
	@echo "== setting up $(1) with $$($(PYTHON) -V); this takes a minute, once"
	@# Some systems ship venv without the pip that it would bring; theirs installs one then.
	@$(PYTHON) -m venv $(1) >/dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip $(1) && \
		$(PYTHON) -m pip --python $(1)/bin/python install --quiet pip; }
	@$(1)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
endef

$(READY): pyproject.toml
	$(call environment,$(VENV))
	@$(BIN)/python -m pip install --quiet --editable . --group test --group check
	@touch $@

.venv-%/.ready: pyproject.toml scripts/lowest.py
	$(call environment,.venv-$*)
	@.venv-$*/bin/python scripts/lowest.py > .venv-$*/lowest.txt
	@.venv-$*/bin/python -m pip install --quiet --editable . --group test $(PACKAGES-$*)
	@touch $@
