# The README's two commands are `make lab` and `make test`. Every target sets up .venv by itself, once per set of pins.
# ARGS go on to JupyterLab: make lab ARGS="--no-browser --port 8889"
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PINS := $(shell cat constraints.txt pyproject.toml 2>/dev/null | cksum | cut -d' ' -f1)
READY := $(VENV)/.ready-$(PINS)
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=300 --nbval-sanitize-with=tests/nbval.cfg

.PHONY: lab test test-gpu record-parity release bench setup

setup: $(READY)

lab: $(READY)
	$(BIN)/grader lab $(ARGS)

# Everything that CI checks. The simulated GPU is used also where a real one is present, so that the outputs
# stored in solutions/ compare; `make test-gpu` is for the real one.
test: export GRADER_GPU = sim
test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/grader release --check
	$(BIN)/python -m pytest tests
	$(BIN)/python -m pytest $(NBVAL) -n 2 --dist loadfile notebooks solutions

test-gpu: export GRADER_GPU = real
test-gpu: $(READY)
	$(BIN)/python -m pytest -m device tests

# On a machine with a GPU: the outcomes of tests/parity's programs that have none yet (ARGS="--all": of all).
record-parity: $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[gpu]'
	$(BIN)/python -m tests.parity.record $(ARGS)

release: $(READY)
	$(BIN)/grader release

bench: export GRADER_GPU = sim
bench: $(READY)
	$(BIN)/python -m tests.bench

$(READY):
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "This course needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 lab")'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "Python's venv module is missing. On Debian and Ubuntu: sudo apt install python3-venv"; exit 1; }
	@rm -f $(VENV)/.ready-*
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[lab,test]'
	@$(BIN)/python -m grader.simgpu.native || true
	@touch $@
