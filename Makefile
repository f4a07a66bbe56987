# Cycloid's commands; `make` alone lists them. CMake does the work (CMakePresets.json), scripts/setup
# installs what is missing.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo build setup test test-long test-gpu cuda bench lint docs wheel models clean \
        setup-build setup-docs setup-test setup-bench setup-cuda every-set test-release test-python test-dev test-tsan

JOBS ?= $(shell nproc)
TIER ?= build
PYTHON_VENV := .venv/bin/python

CTEST := ctest --output-on-failure --no-tests=error --timeout 600 -j $(JOBS)
heading = @printf '\n== %s\n'

help:  ## list these commands
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: SETS := widest
demo: setup-build build/build.ninja  ## install what is missing, build, show what Cycloid does
	@cmake --build --preset release -j $(JOBS) --target cycloid_cli
	@build/cycloid tour --report build/cycloid_tour.html

build: setup-build every-set  ## program and Python package for every instruction set, in build/
	@cmake --build --preset release -j $(JOBS)

setup: setup-$(TIER)  ## install what a tier needs: TIER=build (default), docs, test, bench or cuda

test: setup-test lint test-release test-python test-dev test-tsan  ## every test: C++, Python, pages, sanitizers

test-long: export CYCLOID_LONG_TESTS = 1
test-long: SANITIZED += rigid io
test-long: setup-test every-set  ## the whole corpora of which `make test` takes a sample
	@cmake --build --preset release -j $(JOBS) --target all all_tests
	$(CTEST) --test-dir build -LE threads --timeout 86400
	@$(PYTHON_VENV) -B -m pytest tests
	@$(MAKE) --no-print-directory test-dev SANITIZED='$(SANITIZED)'

cuda: setup-cuda  ## the kernels of a card: build/libcycloid_cuda.so, in minutes
	@JOBS=$(JOBS) scripts/cuda build

test-gpu: setup-test build cuda  ## what runs on a card: parity with the CPU, gradients, determinism, figures
	@cmake --build --preset release -j $(JOBS) --target device_check heat_check
	@$(PYTHON_VENV) -B tests/gpu/models.py build/gpu_models
	@build/tests/device_check build/gpu_models/*.cym
	@build/tests/heat_check --figures
	@build/tests/device_check --figures build/gpu_models/dm_humanoid.cym build/gpu_models/dm_humanoid_smooth.cym

bench: setup-bench every-set  ## the race against peers, a table and bench/results.html; QUICK=1: in five minutes, REPEAT=3: with spread
	@cmake --preset release -DCYCLOID_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench/all cycloid_python cycloid_python_package
	@$(PYTHON_VENV) bench/run.py $(if $(QUICK),--quick) $(if $(REPEAT),--repeat $(REPEAT))

lint: setup-test  ## formatting, house rules, arrows between rooms, register of operators
	$(heading) 'lint'
	@scripts/format --check
	@status=0; for check in include_arrows operators house documents; do \
	  $(PYTHON_VENV) -B tests/checks/$$check.py || status=1; done; exit $$status

docs: setup-docs build  ## the documentation as a site with search: build/docs/index.html
	@$(PYTHON_VENV) -B tests/checks/documents.py
	@$(PYTHON_VENV) -B docs/site/build.py

wheel: setup-test  ## the Python package as a wheel with its manylinux tag, in build/wheel
	@scripts/wheel

models: setup-test build  ## other packages' robots and our errors; ROBOTS=folder: and those of a collection
	@$(PYTHON_VENV) -B tests/python/models.py --write
	@CYCLOID_ROBOTS="$(ROBOTS)" $(PYTHON_VENV) -B tests/python/robot_models.py --write

clean:  ## remove the builds; .venv stays
	rm -rf build build-dev build-tsan build-wheel build-wheel-sets

# ---- the parts of `make test` ------------------------------------------------------------------

# Every test of the optimised build. What carries the label `threads` runs inside its room's test.
test-release: every-set
	$(heading) 'release: every test'
	@cmake --build --preset release -j $(JOBS) --target all all_tests
	$(CTEST) --test-dir build -LE threads

# What is tested from Python: the package, the program and its pages, and that the checks can fail.
# Two files at a time; those that signals, clocks or memory would disturb come after, one by one.
test-python:
	$(heading) 'pytest'
	@$(PYTHON_VENV) -B -m pytest tests -m 'not alone' -n 2 --dist loadfile
	@$(PYTHON_VENV) -B -m pytest tests -m alone

# Rooms under the address and undefined-behaviour sanitizers, leaks included.
SANITIZED := base math model geometry system fluid adjoint record optimise
empty :=
SANITIZED_PATTERN := ^($(subst $(empty) ,|,$(SANITIZED)))$$
# Room optimise links robots, whose kernels take longest: they are watched in `make test-long`.
test-dev: build-dev/build.ninja
	$(heading) 'dev: address and undefined-behaviour sanitizers'
	@cmake --preset dev -DCYCLOID_PLAIN_ROOMS=$(filter-out $(SANITIZED),rigid)
	@cmake --build --preset dev -j $(JOBS) --target $(SANITIZED:%=test_%)
	ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(CTEST) --test-dir build-dev -R '$(SANITIZED_PATTERN)'

# The pool and the rollouts under the thread sanitizer, which on kernels that spread their address
# space widely works only with a fixed layout.
FIXED_LAYOUT := $(shell setarch -R true 2>/dev/null && echo setarch -R)
test-tsan: build-tsan/build.ninja
	$(heading) 'tsan: thread sanitizer'
	@cmake --build --preset tsan -j $(JOBS) --target test_threads
	$(FIXED_LAYOUT) $(CTEST) --test-dir build-tsan -L threads

# A build tree is configured once, and again when the presets change; CMake sees to the rest.
# `make demo` begins with the instruction set that this machine uses; the others join the same tree.
SETS := all
build/build.ninja: CMakePresets.json
	@cmake --preset release $(if $(wildcard $@),,-DCYCLOID_INSTRUCTION_SETS=$(SETS)) && touch $@
every-set: build/build.ninja
	@! grep -q '^CYCLOID_INSTRUCTION_SETS:STRING=widest$$' build/CMakeCache.txt || \
	  cmake --preset release -DCYCLOID_INSTRUCTION_SETS=all
build-dev/build.ninja: CMakePresets.json
	@cmake --preset dev && touch $@
build-tsan/build.ninja: CMakePresets.json
	@cmake --preset tsan && touch $@

setup-build setup-docs setup-test setup-bench setup-cuda: setup-%:
	@scripts/setup $*
