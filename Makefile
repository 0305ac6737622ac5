# Everything here sets up .venv first, from the hash-locked requirements, and again only when those change.
#
#   make study                                    the default study; `make study STUDY=config/studies/real.yaml` another
#   make figures, tables, claims, report          a part of it; also runs, streams, data
#   make test                                     all tests, the slow ones included
#   make lint                                     code, rules and workflow
#   make docs                                     the site of documentation, in site/
#   make lock                                     write requirements.lock and requirements-docs.lock anew from pyproject.toml
#   make setup                                    .venv alone
#   make clean                                    remove results and caches, but not .venv and results/reference
#
# PYTHON is the interpreter that makes .venv (3.11 or newer), CORES how many cores to use.
PYTHON ?= python3
CORES ?= all
STUDY ?= config/config.yaml

BIN := .venv/bin
READY := .venv/.ready
RUN := --cores $(CORES) --configfile $(STUDY)
RESULTS := results/$(shell sed -n 's/^study: *//p' $(STUDY))
WORKERS := $(if $(filter all,$(CORES)),logical,$(CORES))

.DEFAULT_GOAL := study
.PHONY: setup study data streams runs figures tables claims report test lint docs lock clean

setup: $(READY)

study: $(READY)
	$(BIN)/snakemake $(RUN)
	@echo
	@$(BIN)/scant show $(RESULTS) --summary
	@echo
	@echo "All of it on one page: $(RESULTS)/report.html    Figures: $(RESULTS)/figures    Tables: $(RESULTS)/tables"

data streams runs figures tables claims report: $(READY)
	$(BIN)/snakemake $@ $(RUN)

# A file's tests share what they run. The longest come first: those of the cluster, which mostly wait, and whole studies.
test: $(READY)
	$(BIN)/pytest -m "" -rs --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  tests/cluster tests/workflow tests/browser tests/contract tests/unit tests/ads

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

docs: $(READY)
	$(call INSTALL,--require-hashes -r requirements-docs.lock)
	$(BIN)/mkdocs build --strict --quiet

LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
  --python-version 3.11 pyproject.toml
lock: $(READY)
	$(LOCK) --extra test -o requirements.lock
	$(LOCK) --extra docs --constraints requirements.lock -o requirements-docs.lock

clean:
	[ ! -d results ] || find results -mindepth 1 -maxdepth 1 ! -name reference -exec rm -rf {} +
	rm -rf .snakemake .pytest_cache .ruff_cache .hypothesis .benchmarks build site
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# uv installs in a fifth of pip's time; pip does it where uv cannot, as where an index is set for pip alone. What has no
# wheel is built by the locked setuptools. The last lines compile bytecode, on all cores, but for packages' own tests (a
# file that some Python cannot compile does not stop it), and the loops.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(BIN)/python -m pip install --quiet $(1)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "scant needs Python 3.11 or newer, and $(PYTHON) is not. Name one that is: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	sed -n -e '/^setuptools==/,/[^\\]$$/p' -e '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/build.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r .venv/build.lock
	$(call INSTALL,--no-deps --no-build-isolation --require-hashes -r requirements.lock)
	$(call INSTALL,--no-deps --no-build-isolation -e .)
	$(BIN)/python -m compileall -qq -j 0 -x '/tests/' .venv/lib src || true
	$(BIN)/scant compile
	touch $@
