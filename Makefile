# The only entry points. `make help` explains them.
.DEFAULT_GOAL := help
.PHONY: help setup setup-demo setup-test build demo dev test test-all test-programs test-server test-instrumented vm-image vm-test laboratory emulated lint lint-style bench mutants validate package package-test package-vm-test rpm bare-root pictures docs sbom locks clean

export PYTHONDONTWRITEBYTECODE := 1

help: ## Show this
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: ## Install everything that building, testing and checking needs (Debian 12; root or sudo)
	@tools/setup.sh all

setup-demo: ## Install what building and the demonstration need
	@tools/setup.sh demo

setup-test: # what `make test` needs
	@tools/setup.sh test

build: ## Build every program into build/bin/
	@mkdir -p build
	@cmake --preset dev -DHAPPE_TESTS=OFF -DHAPPE_UNIT_TESTS=OFF >build/cmake.log 2>&1 || { cat build/cmake.log; echo "make build: make setup-demo installs what is missing"; exit 1; }
	@cmake --build --preset dev

demo: setup-demo ## Run the paper's study with simulated people: server, laptops, meters, unblinding, dashboard (a minute)
	@mkdir -p build
	@cmake --preset dev -DHAPPE_TESTS=OFF -DHAPPE_UNIT_TESTS=OFF >build/cmake.log 2>&1 || { cat build/cmake.log; exit 1; }
	@cmake --build --preset dev --target happe-sim
	@tools/demo.sh

dev: setup-test
	@tools/test.sh build

test: dev ## Build everything; run the unit tests, the vectors, and each program (ten minutes on two cores; three when run again)
	@tools/test.sh quick

test-all: test test-programs test-server test-instrumented emulated ## Run every test: also PostgreSQL, browsers, kill -9, sanitizers, fuzzing, the emulated T61 (half an hour)

# Parts of `test-all`, each of which can run alone. Each writes to folders of its own, so they may run beside each other.
test-programs: setup dev
	@tools/test.sh programs

test-server: setup dev
	@tools/test.sh server

test-instrumented: setup
	@tools/test.sh instrumented

vm-image: setup
	@/usr/bin/python3 -B tests/vm/image.py >/dev/null

vm-test: setup dev vm-image ## Run the tests that need a kernel of their own, in an emulated ThinkPad T61 (about 13 minutes)
	@tools/vm-test.sh

laboratory: setup dev vm-image ## Play a shortened study: wizard, server, meter, the kernel's ondemand and HAPPE (about 4 minutes)
	@tools/laboratory.sh

# Both in turn: two emulated machines at once would starve each other (.ci/run).
emulated: setup dev vm-image
	@tools/vm-test.sh
	@tools/laboratory.sh --participants 1

lint: lint-style ## Check formatting, style, types, the direction of dependencies, and C++ with clang-tidy (about 10 minutes)
	@tools/lint.sh tidy

lint-style: setup # all of lint that takes seconds
	@tools/lint.sh style

bench: setup ## Measure speed and memory, as ratios to a baseline of the same run
	@tools/bench.sh

mutants: setup dev ## Change the code in 300 places, one at a time, and see that tests notice (long; goes on where it was interrupted)
	@tools/mutants.sh

validate: setup build ## Gather the long evidence that the documents quote, part by part: statistics, mutants, fuzzing, Debians (root; hours)
	@tools/validate.sh

package: setup ## Build the Debian packages and wheels into build/packages, and check them with lintian
	@tools/setup.sh package
	@packaging/package.sh

package-test: package ## Have autopkgtest install, upgrade, remove and purge the packages in a Debian 12 of their own (root)
	@packaging/package-test.sh

package-vm-test: package ## The same in an emulated ThinkPad T61, where the governor governs and servers serve (about 10 minutes)
	@packaging/package-vm-test.sh

rpm: package ## Build the RPMs into build/packages, and compare them with the Debian packages
	@packaging/rpm.sh

bare-root: ## Do what README says in a bare Debian 12 and 13, as root and as a user with sudo (root; hours)
	@tools/bare-root.sh root make demo
	@tools/bare-root.sh sudo make demo
	@HAPPE_DEBIAN=trixie tools/bare-root.sh root make demo
	@tools/bare-root.sh root make test
	@tools/bare-root.sh sudo make test

pictures: setup build ## Renew the pictures of the documents
	@tools/pictures.sh

docs: setup build ## Make the documents into a site: build/docs/html/index.html
	@tools/docs.sh

sbom: setup ## List what HAPPE is made of, in CycloneDX's format: build/sbom.cdx.json
	@PYTHONPATH=docs/site build/venv/bin/python -m happe_docs.sbom build/sbom.cdx.json

locks: setup ## Renew the pinned versions of Python packages
	@tools/locks.sh

clean: ## Remove what was built
	rm -rf build
