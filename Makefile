# The only entry points. `make help` explains them.
.DEFAULT_GOAL := help
.PHONY: help setup setup-demo setup-test setup-all build demo dev test test-all test-programs test-server test-instrumented vm-image vm-test emulated tutorials lint lint-style bench validate package package-test package-vm-test pictures locks container clean

export PYTHONDONTWRITEBYTECODE := 1

help: ## Show this
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: ## Install what building, testing and checking need, or PART=governor, desktop, demo, test (Debian; root or sudo)
	@tools/setup.sh $(or $(PART),all)

setup-demo: ## Install what building and the demonstration need
	@tools/setup.sh demo

setup-test: # what `make test` needs
	@tools/setup.sh test

setup-all: setup-test # the rest, while `dev` compiles
	@tools/setup.sh all

build: ## Build every program into build/bin/
	@mkdir -p build
	@cmake --preset dev -DHAPPE_UI=AUTO -DHAPPE_TESTS=OFF -DHAPPE_UNIT_TESTS=OFF >build/cmake.log 2>&1 || { cat build/cmake.log; echo "make build: make setup PART=desktop installs what is missing"; exit 1; }
	@grep '^Left out:' build/cmake.log || true
	@cmake --build --preset dev

demo: setup-demo ## Run the paper's study with simulated people: server, laptops, meters, unblinding, dashboard (a minute and a half)
	@mkdir -p build
	@cmake --preset dev -DHAPPE_UI=OFF -DHAPPE_TESTS=OFF -DHAPPE_UNIT_TESTS=OFF >build/cmake.log 2>&1 || { cat build/cmake.log; exit 1; }
	@cmake --build --preset dev --target happe-sim
	@tools/demo.sh

dev: setup-test
	@tools/test.sh build

test: dev ## Build everything; run the unit tests, the vectors, and each program (ten minutes on two cores; three when run again)
	@tools/test.sh quick

# The longest parts come first, so that they end with the others if several run beside each other (.ci/run).
test-all: emulated test-programs test-server test-instrumented test ## Run every test: also PostgreSQL, browsers, kill -9, sanitizers, the emulated T61 (20 minutes)

# Parts of `test-all`, each of which can run alone. Each writes to folders of its own, so they may run beside each other.
test-programs: setup-all dev
	@tools/test.sh programs

test-server: setup-all dev
	@tools/test.sh server

test-instrumented: setup-all
	@tools/test.sh instrumented

vm-image: setup-all
	@/usr/bin/python3 -B tests/vm/image.py >/dev/null

vm-test: setup-all dev vm-image ## Run the tests that need a kernel of their own, in an emulated ThinkPad T61 and a machine with eight policies (about 15 minutes)
	@tools/vm-test.sh

# One boot: the real kernel's cpufreq and keys, the machine given back after SIGKILL, a sealed run.
emulated: setup-all dev vm-image
	@tools/vm-test.sh --boot real_time -- -m ci

tutorials: setup build ## Run the commands of the tutorials for researchers and reviewers, from their own text
	@build/venv/bin/python -m pytest -q -p no:cacheprovider tests/architecture/test_tutorials.py

lint: lint-style ## Check formatting, style, types, the direction of dependencies, and C++ with clang-tidy (about 10 minutes)
	@tools/lint.sh tidy

lint-style: setup-all # all of lint that takes seconds
	@tools/lint.sh style

bench: setup ## Measure speed and memory, as ratios to a baseline of the same run
	@tools/bench/run.sh

validate: setup build ## Gather the long evidence that the documents quote, part by part: statistics, fuzzing, Debians (root; hours)
	@tools/validate.sh

package: ## Build the Debian packages and wheels into build/packages, and check them with lintian; or PART=governor alone
	@tools/setup.sh package$(PART:%=-%)
	@packaging/package.sh $(PART)

package-test: package ## Have autopkgtest install, upgrade, remove and purge the packages in a Debian of their own (root)
	@tools/setup.sh package-test
	@packaging/package-test.sh

package-vm-test: setup package ## The same in an emulated ThinkPad T61, where the governor governs and servers serve (about 10 minutes)
	@packaging/package-vm-test.sh

container: ## Build an image of the study server from build/packages, with buildah (docs/how-to/containers.md)
	@packaging/container.sh

pictures: setup build ## Renew the pictures of the documents
	@tools/pictures.sh

locks: setup ## Renew the pinned versions of Python packages
	@tools/locks.sh

clean: ## Remove what was built
	rm -rf build
