# A thin door over CMake: `make help` lists what it can do.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
MAKEFLAGS += --no-print-directory

all: ## build build/luthier and build/libluthier.so (the default)
	@tools/setup build
	@test -f build/Makefile || cmake --preset release
	@cmake --build build -j$(JOBS)

demo: all ## the whole story on embedded data, in under a minute
	@build/luthier demo

test: ## every check and every test, also under the sanitizers
	@tools/setup test
	@tools/run_tests

bench: all ## how fast this machine is, and how that compares with plain loops
	@build/luthier bench
	@cmake --build build -j$(JOBS) --target luthier-bench-compare >/dev/null
	@bench/run

fuzz: ## MINUTES=n (1): fuzz everything that reads bytes from outside, see fuzz/README.md (needs clang)
	@tools/setup fuzz
	@tools/fuzz $(or $(MINUTES),1)

check-long: ## fuzzing, valgrind, coverage, big tables, ARM by an emulator, every experiment on a small part: half an hour
	@tools/setup long
	@tools/check_long

cuda: all ## build build/libluthier_cuda.so, the plug-in for NVIDIA GPUs (needs nvcc)
	@$(MAKE) -C src/device/cuda -j$(JOBS)

test-cuda: cuda ## compare a GPU with the CPU; says so where there is none
	@tools/test_cuda

mpi: all ## build build/libluthier_mpi.so, the plug-in for clusters (needs mpicc)
	@$(MAKE) -s -C src/cluster/mpi

docs: all ## the documentation as a site with search, build/site (mkdocs-material from PyPI)
	@test -x build/docs-env/bin/mkdocs || { python3 -m venv build/docs-env && \
		build/docs-env/bin/pip install -q "mkdocs-material<10" numpy matplotlib; }
	@NO_MKDOCS_2_WARNING=1 build/docs-env/bin/python tools/make_site

install: all ## install under PREFIX (and DESTDIR)
	@cmake --install build --prefix "$(PREFIX)"

format: ## put all C files into the house format
	@tools/check_format --fix

clean: ## remove build/
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

.PHONY: all demo test bench fuzz check-long cuda test-cuda mpi docs install format clean help
