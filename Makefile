# Everything runs in .venv, which is made on demand. `make` alone lists what there is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest
QUICK := tests/isa/test_tables.py tests/isa/test_codec.py tests/sim_engines/test_reference.py \
	tests/sim_engines/test_edges.py tests/sim_engines/test_streams.py tests/host/test_table.py \
	tests/host/test_elementwise.py tests/host/test_convolution.py tests/races/test_streams.py \
	tests/sim_timing/test_formulas.py tests/compiler/test_figures.py tests/compiler/test_conflicts.py \
	tests/native/test_translator.py tests/sim_machine/test_faults.py

.DEFAULT_GOAL := help
.NOTPARALLEL: # two installations at once would break .venv
.PHONY: help demo test quick test-all nightly random check docs docs-site accuracy bench exports fuzz rtl rtl-all rtl-streams golden firmware native wheel clean

help: ## list the targets
	@awk -F ': .*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/ready-demo ## from an empty checkout to results, in out/demo
	$(BIN)/python tools/demo.py

quick: $(VENV)/ready-quick ## the inner loop: the tests that find most mistakes, about a minute
	$(PYTEST) -n auto $(QUICK)

test: $(VENV)/ready-test ## the tests, without those that take minutes
	$(PYTEST) -n auto --dist worksteal

test-all: $(VENV)/ready-test ## every test but those of the RTL, which `make rtl-all` has
	$(PYTEST) -m 'not rtl'

nightly: $(VENV)/ready-test ## every network on every kind of machine, for hours; resumable
	$(BIN)/python tools/nightly.py

random: $(VENV)/ready-test ## 20,000 random networks on both hosts, for hours; resumable; COUNT=
	$(BIN)/python tools/random_networks.py --count $(or $(COUNT),20000)

check: $(VENV)/ready-dev ## style, types, import directions, generated files, firmware, machine code, wheel
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/generate.py --check
	$(BIN)/python tools/build_firmware.py --check
	$(BIN)/python tools/build_native.py --check
	$(BIN)/python tools/check_wheel.py

docs: $(VENV)/ready ## regenerate what comes from the tables and from measured files
	$(BIN)/python tools/generate.py
	$(BIN)/python benchmarks/accuracy.py --statements

docs-site: $(VENV)/ready-docs ## the manuals as a site in out/site, warnings as errors
	$(BIN)/python tools/docs_site.py

bench: $(VENV)/ready-test ## measure; prints tables
	set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script; done

accuracy: $(VENV)/ready-test ## docs/accuracy.md and docs/zoo.md anew (ZOO=folder of .tflite files)
	$(BIN)/python benchmarks/accuracy.py --write
	$(BIN)/python benchmarks/zoo.py --write $(ZOO)

exports: $(VENV)/ready-test ## PyTorch networks through both exporters to ONNX, beside onnxruntime: a chapter of docs/zoo.md
	$(PYTHON) -m venv out/torch
	out/torch/bin/python -m pip install --quiet torch torchvision onnx onnxscript onnxruntime
	out/torch/bin/python benchmarks/exports/make.py out/exports
	$(BIN)/python benchmarks/exports/measure.py out/exports

fuzz: $(VENV)/ready-test ## damaged inputs for every parser, COUNT of each (20000), or for TARGETS only
	$(BIN)/python -m tests.fuzz $(TARGETS) --count $(or $(COUNT),20000) --seed $(or $(SEED),0)

HAS_VERILATOR := command -v verilator >/dev/null || \
	{ echo "verilator is not installed: the RTL cannot be built (Debian: apt-get install verilator g++)" >&2; exit 1; }

rtl: $(VENV)/ready-rtl ## build the RTL with Verilator, and compare it with the simulator
	@$(HAS_VERILATOR)
	$(PYTEST) -n auto --dist worksteal -m 'rtl and not slow' tests/rtl

rtl-all: $(VENV)/ready-rtl ## the same with large machines and seeded mistakes; measures the tables of docs/accuracy.md
	@$(HAS_VERILATOR)
	$(PYTEST) -n auto --dist worksteal -m rtl tests/rtl
	$(BIN)/python -m tests.rtl --write --jobs $$(nproc)

rtl-streams: $(VENV)/ready-rtl ## 10,000 random streams on RTL and simulator; resumable; COUNT=
	@$(HAS_VERILATOR)
	$(BIN)/python tools/random_streams.py --count $(or $(COUNT),10000)

golden: $(VENV)/ready-test ## rewrite the golden files; read their diff before committing it
	$(PYTEST) --update-golden
	$(BIN)/python tools/page_pictures.py

firmware: $(VENV)/ready-dev ## rebuild the prebuilt firmware
	$(BIN)/python tools/build_firmware.py

native: $(VENV)/ready-dev ## rebuild the machine code that ships, after a change in a routine or kernel
	$(BIN)/python tools/build_native.py

wheel: $(VENV)/ready-dev ## build dist/*.whl and check its contents
	$(BIN)/python tools/check_wheel.py --output dist

clean: ## remove what was built, keep .venv
	rm -rf build dist out *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# Compiling the installed modules takes a third of an installation, so each core does a share. Some modules are not
# Python of this version, which is no failure.
define INSTALL
test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
$(PIP) install --no-compile --editable '.$(EXTRAS)'
$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
touch $@
endef

$(VENV)/ready: EXTRAS =
$(VENV)/ready: pyproject.toml
	$(INSTALL)

$(VENV)/ready-demo: EXTRAS = [verify]
$(VENV)/ready-demo: pyproject.toml
	$(INSTALL)
	touch $(VENV)/ready

$(VENV)/ready-quick: EXTRAS = [quick]
$(VENV)/ready-quick: pyproject.toml
	$(INSTALL)
	touch $(VENV)/ready $(VENV)/ready-demo

$(VENV)/ready-test: EXTRAS = [test]
$(VENV)/ready-test: pyproject.toml
	$(INSTALL)
	touch $(VENV)/ready $(VENV)/ready-quick

$(VENV)/ready-rtl: EXTRAS = [test,rtl]
$(VENV)/ready-rtl: $(VENV)/ready-test
	$(INSTALL)

$(VENV)/ready-dev: EXTRAS = [test,dev]
$(VENV)/ready-dev: pyproject.toml
	$(INSTALL)
	touch $(VENV)/ready $(VENV)/ready-quick $(VENV)/ready-test

$(VENV)/ready-docs: EXTRAS = [docs]
$(VENV)/ready-docs: $(VENV)/ready
	$(INSTALL)
