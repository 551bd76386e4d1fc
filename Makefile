# The front door. Meson and Ninja do the work; each target first installs what it needs.
#
#   make run        build, and run the delivery server    make build     build/lull, build/liblull.so
#   make demo       10,000 messages through faults        make soak      the simulation, until stopped
#   make test       all tests, with sanitizers            make bench     every figure of the README
#   make fuzz       60 s for each parser of outside bytes make lint      format, clang-tidy, cppcheck
#   make coverage   lines of the core that tests reach    make install   under PREFIX (/usr/local)
#   make figures    bench, and its figures into the README make format   the sources, in place
#   make compare    the same faults through curl, wget and lull, into docs/fetch-comparison.md

# The libraries go to PREFIX/lib, where the loader and pkg-config look; what Meson would choose depends
# on which packages are installed.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
PYTHON = /usr/bin/python3
MESON = /usr/bin/meson

.PHONY: run demo build test soak bench compare figures fuzz lint format coverage install clean

# ARGS are the server's: make run ARGS='--allow-private'
run: build
	build/lull serve $(ARGS)

demo: build
	@scripts/install-packages demo
	@LULL_PROGRAM=$(CURDIR)/build/lull scripts/demo

build:
	@scripts/install-packages build
	@test -f build/build.ninja || $(MESON) setup build --prefix=$(PREFIX) --libdir=lib
	@ninja -C build

test:
	@scripts/install-packages build test
	@scripts/install-npm tests/interop tests/openapi
	@test -f build/build.ninja || $(MESON) setup build --prefix=$(PREFIX) --libdir=lib
	@test -f build-test/build.ninja || CC=gcc $(MESON) setup build-test \
	    --buildtype=debugoptimized -Dtests=true -Dbench=true -Dexamples=true \
	    -Db_sanitize=address,undefined
	@test -f build-clang/build.ninja || CC=clang $(MESON) setup build-clang \
	    --buildtype=debugoptimized -Dtests=true -Dbench=true -Dexamples=true -Dfuzz=true \
	    -Db_lundef=false -Db_sanitize=address,undefined
	@test -f build-tsan/build.ninja || CC=clang $(MESON) setup build-tsan \
	    --buildtype=debugoptimized -Dtests=true -Db_lundef=false -Db_sanitize=thread
	@test -f build-fast/build.ninja || CC=gcc $(MESON) setup build-fast -Dtests=true
	@ninja -C build
	@ninja -C build-test
	@ninja -C build-clang
	@ninja -C build-tsan lull tests/stress_client tests/test_resolver tests/transport_drive \
	    tests/server/test_api tests/server/test_api_batch tests/server/test_api_life
	@ninja -C build-fast tests/transport_drive
	@$(PYTHON) tests/run.py

# New seeds, from the present second on, until one fails or it is stopped: make soak SEED=1
SEED ?= $(shell date +%s)
soak:
	@scripts/install-packages build test
	@test -f build-test/build.ninja || CC=gcc $(MESON) setup build-test \
	    --buildtype=debugoptimized -Dtests=true -Dbench=true -Dexamples=true \
	    -Db_sanitize=address,undefined
	@ninja -C build-test tests/sim/sim >/dev/null
	@build-test/tests/sim/sim --from $(SEED)

bench:
	@scripts/install-packages build bench
	@scripts/install-npm bench/peers
	@test -f build-bench/build.ninja || $(MESON) setup build-bench -Dbench=true
	@ninja -C build-bench >/dev/null
	@bench/run

compare: build
	@scripts/install-packages test
	@PYTHONDONTWRITEBYTECODE=1 LULL_PROGRAM=$(CURDIR)/build/lull \
	    $(PYTHON) tests/integration/compare.py --write

figures:
	@$(MAKE) --no-print-directory bench | $(PYTHON) bench/readme.py

fuzz:
	@scripts/install-packages build test
	@test -f build-fuzz/build.ninja || CC=clang $(MESON) setup build-fuzz \
	    --buildtype=debugoptimized -Dfuzz=true -Db_lundef=false -Db_sanitize=address,undefined
	@ninja -C build-fuzz
	@scripts/fuzz build-fuzz $(FUZZ_SECONDS)

lint:
	@scripts/install-packages build lint
	@test -f build-lint/build.ninja || CC=clang $(MESON) setup build-lint -Dtests=true -Dbench=true -Dexamples=true
	@ninja -C build-lint >/dev/null
	@scripts/lint build-lint

format:
	@scripts/install-packages lint
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format -i

coverage:
	@scripts/install-packages build coverage
	@test -f build-coverage/build.ninja || CC=gcc $(MESON) setup build-coverage \
	    --buildtype=debug -Dtests=true -Db_coverage=true
	@ninja -C build-coverage
	@scripts/coverage build-coverage

install: build
	@$(MESON) configure build --prefix=$(PREFIX)
	@ninja -C build install
	@test -n "$(DESTDIR)" || test "$$(id -u)" -ne 0 || ldconfig

clean:
	rm -rf build build-test build-clang build-tsan build-fast build-bench build-fuzz build-lint build-coverage
