# Sets up everything that a run needs in .venv. It needs only python3 with venv and pip, and no root.
#   make accept                      accept the embedded lab
#   make accept ARGS="--hostfile F"  accept a cluster; ARGS go to pytest as they are
#   make test                        the suite's own tests
#   make lowest, make newest         accept the lab with the lowest and the newest versions of all packages
#   make dist                        a release in dist/, with its bill of materials
#   make release KEY=FILE            the same with the image and checksums, signed by an Ed25519 key of ssh-keygen
#   make dist image                  the image of the host from which railgauge runs, as an archive; needs podman
#   make bare                        the quick ones, with only a shell and utilities on the PATH
#   make hooks                       checks before each commit (.pre-commit-config.yaml)
#   make mutants                     changes to verdict code that the unit tests do not detect
#   make fuzz                        changed texts for every parser and loader, ten minutes
#   make allure-cli                  Allure's generator, for railgauge allure; needs node and npm
#   make axe                         the accessibility rules that selftests check pages by; needs npm
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# The versions that the selftests ran with, by hash; make CONSTRAINTS= takes the newest instead.
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
# pytest rewrites the assertions of every module of a plugin; runs that may not keep the result do it anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: accept test bare lint types hooks mutants fuzz docs matrix healthy stragglers blind blind-quick scale kills bench jars \
	allure-cli axe clean lowest newest constraints dist image release sums

accept: $(VENV)/.ready
	$(BIN)/python -m pytest $(ARGS)

# Real daemons have time limits, which five workers on two cores may exceed: what failed is run once
# more by itself, and fails if it fails again. The first summary keeps the names.
FAILED := .cache/failed-selftests
test: $(VENV)/.ready
	@rm -f $(FAILED)
	$(BIN)/python -m pytest selftests -n 5 $(ARGS) || { test -s $(FAILED) && \
		echo 'make test: what failed above is run once more, one test after the other' >&2 && \
		$(BIN)/python -m pytest @$(FAILED); }

# These tests find only a shell and its utilities; tests that need more are skipped.
BARE := .cache/bare
bare: $(VENV)/.ready
	@rm -rf $(BARE)
	@$(BIN)/python selftests/testing/programs.py $(BARE)
	env -u RAILGAUGE_CI PATH=$(CURDIR)/$(BARE) $(BIN)/python -m pytest -q -n 2 \
		$(addprefix selftests/,facts stacks launchers lab/test_lab_server.py) \
		$(addprefix selftests/,project/test_programs.py leases/test_holder.py leases/test_nodelease.py run/test_runner.py cli/test_cli.py) \
		-k 'not in_seconds and not sixty_four' $(ARGS)

lint: $(VENV)/.ready-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready-lint
	$(BIN)/mypy

$(VENV)/.ready: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "railgauge needs Python 3.10 or later: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@test -z '$(CONSTRAINTS)' || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
			--requirement '$(CONSTRAINTS)' || \
		{ echo "make CONSTRAINTS= ... takes the newest versions of all packages instead" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[selftest]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.ready-lint: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[selftest,lint,types,kubernetes]'
	@touch $@

hooks: $(VENV)/.ready-lint
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[hooks]'
	$(BIN)/pre-commit install

# Half an hour on one core; ARGS="judging.record verdict.counts" runs only these modules.
mutants: $(VENV)/.ready-mutants
	nice -n 10 $(BIN)/python selftests/mutation/mutants.py $(ARGS)

# ARGS="--seconds 60 tool.rvs" tries one reader for a minute; --coverage searches with atheris.
fuzz: $(VENV)/.ready-fuzz
	nice -n 10 $(BIN)/python selftests/fuzz/fuzzing.py $(ARGS)

$(VENV)/.ready-fuzz: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[selftest,fuzz]' \
		|| echo "atheris cannot be installed here: --coverage will not work" >&2
	@touch $@

$(VENV)/.ready-mutants: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[selftest,mutants]'
	@touch $@

# Each in a new environment, with level smoke on the lab: some minutes on one core.
UV := .cache/uv/bin/uv
lowest: RESOLUTION := lowest-direct
newest: RESOLUTION := highest
lowest newest: $(UV)
	rm -rf .cache/$@
	$(PYTHON) -m venv --without-pip .cache/$@
	$(UV) pip install --quiet --python .cache/$@/bin/python --resolution $(RESOLUTION) --editable .
	.cache/$@/bin/python -m pytest --level smoke -n 2 $(ARGS)
	.cache/$@/bin/python -m pytest --level smoke --at-once 8 $(ARGS)

$(UV):
	$(PYTHON) -m venv .cache/uv
	.cache/uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'

# The newest versions, for every Python that pyproject.toml allows. Run make test before a commit of them.
constraints: $(UV)
	$(UV) pip compile --quiet --universal --upgrade --generate-hashes --no-header --no-annotate \
		--python-version 3.10 pyproject.toml --output-file constraints.txt

# A source distribution and a wheel, and what they need, as CycloneDX.
dist: $(VENV)/.ready
	rm -rf dist build/lib build/bdist.*
	$(BIN)/python -c "from setuptools import build_meta as b; b.build_sdist('dist'); b.build_wheel('dist')"
	$(BIN)/python selftests/documents/bill_of_materials.py --constraints constraints.txt \
		--json "dist/railgauge-$$($(BIN)/python -c 'import railgauge; print(railgauge.__version__)').cdx.json"

# The wheel in dist/ on Debian, as an archive for podman load or skopeo. IMAGE_OPTIONS are those of podman build.
IMAGE_OPTIONS ?=
image:
	PYTHON='$(abspath $(BIN)/python)' image/build.sh control $(IMAGE_OPTIONS)
	cd dist && archive=$$(echo railgauge-*.whl | sed "s/-py3-.*/-image-$$(uname -m).tar/") && rm -f "$$archive" && \
		podman save --quiet --format=oci-archive --output="$$archive" railgauge-control

# Without KEY nothing is signed.
release: dist
	@if command -v podman >/dev/null; then $(MAKE) --no-print-directory image; \
		else echo 'make release: THERE IS NO IMAGE: podman is not installed here' >&2; fi
	@$(MAKE) --no-print-directory sums

# Checksums of the files in DIST. A signature is in the form that bundles use: by an Ed25519 key, verified
# with an allowed-signers file that allows the namespace railgauge.
DIST := dist
KEY ?=
sums:
	@cd '$(DIST)' && rm -f SHA256SUMS SHA256SUMS.sig allowed_signers && sha256sum railgauge-* >SHA256SUMS
	@test -n '$(KEY)' || echo 'make release: NOTHING IS SIGNED; to sign it: make release KEY=FILE, made by ssh-keygen -t ed25519'
	@test -z '$(KEY)' || { set -e; \
		public=$$(ssh-keygen -y -f '$(KEY)' | cut -d ' ' -f 1,2); \
		case $$public in ssh-ed25519\ *) ;; *) \
			echo 'make release: KEY=$(KEY) is no private Ed25519 key; make one with: ssh-keygen -t ed25519' >&2; \
			exit 1 ;; esac; \
		echo "railgauge namespaces=\"railgauge\" $$public" >'$(DIST)/allowed_signers'; \
		ssh-keygen -Y sign -q -f '$(KEY)' -n railgauge '$(DIST)/SHA256SUMS'; \
		cd '$(DIST)'; \
		ssh-keygen -Y verify -f allowed_signers -I railgauge -n railgauge -s SHA256SUMS.sig <SHA256SUMS; \
		sha256sum --check --quiet SHA256SUMS; }

# The jars on which the test of the Jenkinsfile runs it; needs Java and Maven.
jars:
	selftests/jenkins/fetch_jars .cache/jars

# Installs one exact version in .cache; railgauge allure removes the analytics from its reports.
ALLURE := 3.18.0
allure-cli:
	@test -x .cache/allure/node_modules/.bin/allure && \
		.cache/allure/node_modules/.bin/allure --version | grep -qF '$(ALLURE)' || \
		npm install --prefix .cache/allure --no-save --no-audit --no-fund --ignore-scripts \
			--loglevel=error allure@$(ALLURE)

# Only the selftests use it; the pages load nothing.
AXE := 4.14.1
axe:
	@test -f .cache/axe/node_modules/axe-core/axe.min.js && \
		grep -qF '"version": "$(AXE)"' .cache/axe/node_modules/axe-core/package.json || \
		npm install --prefix .cache/axe --no-save --no-audit --no-fund --ignore-scripts \
			--loglevel=error axe-core@$(AXE)

# These scripts use the selftests' own packages.
docs matrix healthy stragglers blind blind-quick kills bench fuzz: export PYTHONPATH = selftests

# All pages in one folder, with those that railgauge makes, and the files to which they link.
SITE := build/site
PAGES := $(SITE)/docs
docs: $(VENV)/.ready
	rm -rf '$(SITE)'
	mkdir -p '$(SITE)/selftests'
	cp -r *.md Jenkinsfile LICENSE docs examples hostfiles thresholds '$(SITE)'
	cp selftests/false_passes.md '$(SITE)/selftests'
	for page in $$($(BIN)/python -c 'from railgauge.cli.pages import MADE; print(*MADE)'); do \
		$(BIN)/railgauge docs $$page >'$(PAGES)'/$$page.md || exit; done
	$(BIN)/python selftests/documents/document_page.py --page '$(PAGES)/documents.md'
	sed -i -e 's/^| `railgauge docs \([a-z-]*\)` |/| [\1.md](\1.md) |/' \
		-e '/^| \[trust.md\]/a | [documents.md](documents.md) | what holds each line of the five documents |' \
		'$(PAGES)/README.md'

# What the studies find, as tables; docs/validation.md has the figures.
STUDIES := build/studies
$(STUDIES):
	@mkdir -p $@

# A quarter of an hour on two cores: each fault on each platform, and the five stories.
matrix: $(VENV)/.ready | $(STUDIES)
	$(BIN)/python selftests/matrix/fault_matrix.py --page $(STUDIES)/fault-matrix.md
	$(BIN)/python selftests/matrix/stories.py --page $(STUDIES)/stories.md

# Some minutes on one core: every limit on a healthy lab, with 1,000 noise seeds.
healthy: $(VENV)/.ready | $(STUDIES)
	$(BIN)/python selftests/matrix/healthy_seeds.py --page $(STUDIES)/false-alarms.md $(ARGS)

# An hour on one core: healthy runs without a straggler, and from which share on a slow part is named.
stragglers: $(VENV)/.ready | $(STUDIES)
	$(BIN)/python selftests/matrix/straggler_seeds.py --page $(STUDIES)/stragglers.md $(ARGS)

# An hour on two cores: 200 labs with random faults. ARGS="--seed S" repeats a study, and
# ARGS="--seed S --first K --runs 1" one run of it.
blind: $(VENV)/.ready | $(STUDIES)
	$(BIN)/python selftests/matrix/blind_study.py --page $(STUDIES)/blind-study.md $(ARGS)

# Slow parts only, played in one process: half a second a run.
blind-quick: $(VENV)/.ready
	$(BIN)/python selftests/matrix/quick_study.py $(ARGS)

# A quarter of an hour on two cores: 64 simulated nodes, healthy and with two slow ones, which must
# be named, and collectives over all of their GPUs.
scale: $(VENV)/.ready
	RAILGAUGE_SCALE_NODES=64 $(BIN)/pytest selftests/endtoend/test_many_nodes.py --durations=0

# Some minutes: runs that are killed at random moments and carried on with --resume.
kills: $(VENV)/.ready
	$(BIN)/python selftests/matrix/kill_study.py $(ARGS)

# The cost of the suite itself. ARGS="--only TOPIC" measures one topic again and keeps the others.
bench: $(VENV)/.ready | $(STUDIES)
	$(BIN)/python selftests/bench/benchmarks.py --json $(STUDIES)/benchmarks.json \
		--page $(STUDIES)/benchmarks.md $(ARGS)

clean:
	rm -rf $(VENV) .tox build dist man src/*.egg-info
