# Every verb installs what it needs and does it once: stamps are newer than what they were made of.
# Stamps about an environment lie inside it, so removing .venv is enough to begin anew.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

JOBS ?= $(shell nproc)
RUNS ?= $(if $(CI),20000,1000000)
V := .venv
PIP_INSTALL := -m pip --disable-pip-version-check install -q
OTHERS := build/venvs
SYSTEM := build/stamps/system
WHEEL_FILES := find src python share cmake frontend -type f -not -path '*/__pycache__/*' -not -name '*.so' \
  -not -path '*/node_modules/*' -not -path 'python/jumper/frontend/*'
# The list of files is a file too: a deleted source is a change that no time stamp shows.
WHEEL_SOURCES := $(shell $(WHEEL_FILES) 2>/dev/null) CMakeLists.txt pyproject.toml build/stamps/files

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## */\t/' | expand -t 16

demo: $(V)/stamps/jumper $(V)/stamps/demo  ## measure the example notebook without a browser
	$(V)/bin/python scripts/demo.py

lab: $(V)/stamps/jumper $(V)/stamps/lab  ## open JupyterLab with the kernel
	$(V)/bin/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) examples

test: test-native test-python test-browser  ## all tests but the long ones

test-native: $(SYSTEM)  ## the core's tests, without Python
	$(call build,dev)
	$(call ctest,dev,-LE long)

test-python: $(V)/stamps/jumper $(V)/stamps/test  ## the package's tests, on each CPython found
	$(call pytest,$(V),tests/python)
	@for version in $$(scripts/find_python.sh --others $(V)); do \
	  $(MAKE) --no-print-directory test-python-$$version; done

test-python-%: $(OTHERS)/%/stamps/jumper $(OTHERS)/%/stamps/test
	$(call pytest,$(OTHERS)/$*,tests/python -m "not slow and not long")

test-browser: $(V)/stamps/jumper $(V)/stamps/test $(V)/stamps/browser $(SYSTEM)-browser  ## JupyterLab in Chromium
	$(call pytest,$(V),tests/browser)

test-long: $(SYSTEM) $(SYSTEM)-long $(V)/stamps/jumper $(V)/stamps/test  ## the tests that take minutes
	$(call build,dev)
	$(call ctest,dev,-L long)
	$(call pytest,$(V),tests/python -m long,|| [ $$? = 5 ])

bench: $(SYSTEM) $(V)/stamps/jumper $(V)/stamps/bench  ## promises against measurements; make bench ROOM=carry
	$(if $(filter-out native,$(ROOM)),,$(call build,release))
	$(V)/bin/python benchmarks/run.py $(ROOM)

LINT := src tests/native fuzz benchmarks/native
LINT_PYTHON := $(wildcard python scripts tests benchmarks)
lint: $(SYSTEM) $(V)/stamps/build $(V)/stamps/lint $(V)/stamps/run  ## format, clang-tidy, ruff, mypy, rooms, sizes
	$(V)/bin/python scripts/check_includes.py
	$(V)/bin/python scripts/check_sizes.py
	$(V)/bin/python scripts/check_tree.py
	$(V)/bin/python scripts/faults.py
	$(V)/bin/ruff check $(LINT_PYTHON)
	$(V)/bin/ruff format --check $(LINT_PYTHON)
	$(V)/bin/mypy
	find $(wildcard $(LINT)) -name '*.[ch]pp' -print0 | xargs -0 -r $(V)/bin/clang-format --dry-run -Werror
	@mkdir -p build; cmake --preset dev -B build/lint -DJUMPER_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(V)/bin/python >build/lint.log \
	  || { cat build/lint.log; exit 1; }
	$(V)/bin/python scripts/tidy.py --jobs $(JOBS) build/lint

format: $(V)/stamps/lint  ## rewrite the sources in our format
	find $(wildcard $(LINT)) -name '*.[ch]pp' -print0 | xargs -0 -r $(V)/bin/clang-format -i
	$(V)/bin/ruff format $(LINT_PYTHON)
	$(V)/bin/ruff check --fix $(LINT_PYTHON)
	$(V)/bin/python scripts/faults.py --write

asan: $(SYSTEM)  ## native tests under AddressSanitizer and UBSan
	$(call build,asan)
	$(call ctest,asan,-LE long)

tsan: $(SYSTEM)  ## native tests under ThreadSanitizer
	$(call build,tsan)
	$(call ctest,tsan,-LE long)

fuzz: $(SYSTEM) $(SYSTEM)-fuzz  ## each parser against made-up bytes: make fuzz RUNS=1000000
	$(call build,fuzz)
	scripts/fuzz.sh build/fuzz $(RUNS)

docs: $(V)/stamps/docs $(V)/stamps/run  ## the pages, under build/docs
	$(V)/bin/python -m sphinx -W --keep-going -q -b html docs build/docs

clean:  ## everything that was built, .venv included
	rm -rf build $(V)

.PHONY: help demo lab test test-native test-python test-browser test-long bench lint format asan tsan fuzz docs clean FORCE

# ---- how ----
build = @mkdir -p build; cmake --preset $(1) >build/$(1).log || { cat build/$(1).log; exit 1; }; cmake --build --preset $(1) -j $(JOBS)
ctest = ctest --preset $(1) -j $(JOBS) $(2)
# Before there is a test there is nothing to fail: pytest exits with 5 where it selects none.
pytest = @if [ -n "$$(find $(firstword $(2)) -name 'test_*.py' -print -quit 2>/dev/null)" ]; \
  then $(1)/bin/python -m pytest $(2) $(PYTEST_ARGS) $(3); else echo "no tests in $(firstword $(2))"; fi

$(SYSTEM): scripts/apt-packages.txt $(SYSTEM)-node
	scripts/need_packages.sh $<
	@mkdir -p $(@D) && touch $@

# Node is often there without its Debian packages.
$(SYSTEM)-node: scripts/apt-packages-node.txt
	command -v npm >/dev/null || scripts/need_packages.sh $<
	@mkdir -p $(@D) && touch $@

$(SYSTEM)-%: scripts/apt-packages-%.txt
	scripts/need_packages.sh $<
	@mkdir -p $(@D) && touch $@

build/stamps/files: FORCE
	@mkdir -p $(@D); $(WHEEL_FILES) | LC_ALL=C sort >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
# No build isolation: nanobind at one path, so that the next wheel compiles only what changed.
# environment FOLDER VERSION: the rules of one virtual environment.
define environment
$(1)/stamps/venv:
	scripts/make_venv.sh $(1) $(2)
	@mkdir -p $$(@D) && touch $$@

$(1)/stamps/jumper: $(1)/stamps/build $(1)/stamps/run $(SYSTEM) $$(WHEEL_SOURCES)
	rm -rf $(1)/wheel
	$(1)/bin/python -m pip --disable-pip-version-check wheel -q . -w $(1)/wheel --no-deps --no-build-isolation \
	  --config-settings=cmake.define.JUMPER_WERROR=ON
	$(1)/bin/python $(PIP_INSTALL) --force-reinstall --no-deps $(1)/wheel/*.whl
	@touch $$@

$(1)/stamps/%: $(1)/stamps/venv pyproject.toml
	$(1)/bin/python $(PIP_INSTALL) -r <($(1)/bin/python scripts/requirements.py $$*)
	@touch $$@

.PRECIOUS: $(1)/stamps/%
endef
$(eval $(call environment,$(V),any))
$(foreach version,3.11 3.12 3.13,$(eval $(call environment,$(OTHERS)/$(version),$(version))))
