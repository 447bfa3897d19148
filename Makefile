# Everything a fresh Debian with Python 3.11, pip and make needs; nothing is installed outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := .tools/bin/uv
UV_VERSION := 0.13.8
DOCS_TOOLS := .tools/docs-packages
KERBEROS_PACKAGES := .tools/kerberos-packages
FEEDMILL_KEYCLOAK ?= $(CURDIR)/.tools/keycloak-26.7.3

# Each worker of a test run would compile all tests anew, for fifteen seconds of CPU time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-full test-keycloak run-keycloak test-long test-real fuzz audit audit-tools explore install install-dev check docs bench api-reference catalogues lock wheels clean

demo: install ## install and run the main job; FOLDER=DIR feeds a folder of yours too, ONCE=1 ends after the sample result
	$(BIN)/python -m feedmill.cli.demo $(if $(FOLDER),--folder "$(FOLDER)") $(if $(ONCE),--once)

test: check ## install and run the tests; lists at its end what only make test-full runs
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

test-full: ## install the Debian packages that some tests need, run all cases of all tests, and fail on any skip
	bash .ci/packages
	$(MAKE) audit-tools $(DOCS_TOOLS)/.installed $(KERBEROS_PACKAGES)/.installed
	FEEDMILL_NO_SKIPS=1 FEEDMILL_THOROUGH=1 $(MAKE) test
	$(if $(wildcard $(FEEDMILL_KEYCLOAK)/bin/kc.sh),$(MAKE) run-keycloak,@echo "no Keycloak: $(FEEDMILL_KEYCLOAK); 'make test-keycloak' fetches one")

test-keycloak: ## sign in over a real Keycloak; fetches it by Maven where FEEDMILL_KEYCLOAK names none
	$(if $(wildcard $(FEEDMILL_KEYCLOAK)/bin/kc.sh),,bash .ci/keycloak)
	$(MAKE) run-keycloak

run-keycloak: install-dev
	FEEDMILL_NO_SKIPS=1 FEEDMILL_KEYCLOAK=$(FEEDMILL_KEYCLOAK) $(BIN)/pytest tests/acceptance/test_keycloak.py

test-long: install-dev ## the long forms of tests: a hundred kills, the largest feeds; some twenty minutes
	$(BIN)/pytest -m slow

test-real: install-dev ## feed documents of some fifty Debian packages, then the same damaged; PACKAGES="a b", LIMIT=N of each package, SEED=N
	$(BIN)/python -m tests.real --packages "$(PACKAGES)" --limit $(or $(LIMIT),40) --seed $(or $(SEED),1)

fuzz: install-dev ## every fuzzer for its share of SECONDS=600, TARGETS="a b"; findings stand in .tools/fuzz
	-$(UV) pip install --quiet --target .tools/fuzz-packages --python $(BIN)/python --require-hashes -r locks/fuzz.txt
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600) $(if $(TARGETS),--targets $(TARGETS))

audit: install-dev audit-tools ## write an SBOM to build/sbom.json, ask for known holes of all locked packages; exit code 3 (make's: 2) when that cannot be asked
	$(BIN)/python -m tests.audit

audit-tools: install-dev
	-$(UV) pip install --quiet --target .tools/audit-packages --python $(BIN)/python --require-hashes -r locks/audit.txt

explore: install-dev ## the property tests with examples that no run has tried; as often as you like
	FEEDMILL_THOROUGH=1 $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder --hypothesis-profile=explore $$(grep -rl hypothesis tests --include='test_*.py')

check: install-dev ## ruff, mypy --strict, the ladder of imports, the declared dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers auto || { [ $$? -eq 2 ] && $(BIN)/mypy; } # 2: a worker took more than three seconds to start
	$(BIN)/lint-imports
	$(BIN)/deptry src
	$(BIN)/deptry client/src --config client/pyproject.toml

docs: $(DOCS_TOOLS)/.installed ## build the manual as a site in build/site, with search; a broken link or anchor fails
	rm -rf build/site
	PYTHONPATH=$(DOCS_TOOLS) $(BIN)/python -m sphinx --quiet --fail-on-warning --fresh-env --builder html --conf-dir docs --doctree-dir build/doctrees . build/site
	@echo "open build/site/index.html"

$(DOCS_TOOLS)/.installed: locks/docs.txt | $(BIN)/python
	rm -rf $(DOCS_TOOLS)
	$(UV) pip install --quiet --target $(DOCS_TOOLS) --python $(BIN)/python --require-hashes -r locks/docs.txt
	touch $@

# compiled from sources: gcc and libkrb5-dev; quickly, since speed does not count in the tests
$(KERBEROS_PACKAGES)/.installed: locks/kerberos.txt locks/kerberos-build.txt | $(BIN)/python
	rm -rf $(KERBEROS_PACKAGES)
	CFLAGS=-O0 $(UV) pip install --quiet --target $(KERBEROS_PACKAGES) --python $(BIN)/python --require-hashes \
		--build-constraints locks/kerberos-build.txt -r locks/kerberos.txt
	touch $@

bench: install-dev ## all benchmarks; each prints a ratio against a reference measured in the same run
	$(BIN)/python -m bench

install: $(VENV)/.runtime ## into .venv, nothing run
install-dev: $(VENV)/.dev

$(UV): locks/uv.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --upgrade --target .tools \
		--only-binary :all: --require-hashes --requirement locks/uv.txt
	touch $@

$(BIN)/python: | $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)

$(VENV)/.runtime: locks/runtime.txt pyproject.toml | $(BIN)/python
	test -e $(VENV)/.dev || $(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes locks/runtime.txt
	test -e $(VENV)/.dev || $(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src client/src
	touch $@

# The account as which tests of root run PostgreSQL reads these packages too.
$(VENV)/.dev: locks/dev.txt pyproject.toml | $(BIN)/python
	umask 022 && $(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes locks/dev.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src client/src
	touch $@ $(VENV)/.runtime

wheels: install ## build the wheels of the server and of its Python client into build/wheels
	rm -rf build/wheels
	$(BIN)/python -m hatchling build -t wheel -d build/wheels
	cd client && ../$(BIN)/python -m hatchling build -t wheel -d ../build/wheels

api-reference: install-dev ## write the references of the JSON resources and of the Python client anew, from OpenAPI documents and docstrings
	$(BIN)/python -m feedmill.http.common.apireference > docs/reference/api.md.new && mv docs/reference/api.md.new docs/reference/api.md
	$(BIN)/python docs/clientreference.py > docs/reference/python-client.md.new && mv docs/reference/python-client.md.new docs/reference/python-client.md

catalogues: install-dev ## bring the translations of the pages up to date with their texts
	$(BIN)/python -m feedmill.http.pages.catalogues

lock: | $(UV) ## write the lock files anew from pyproject.toml
	$(UV) pip compile pyproject.toml --extra office --extra postgres --extra signin --group build --generate-hashes --python-version 3.11 --quiet --no-header -o locks/runtime.txt
	$(UV) pip compile pyproject.toml --extra mysql --extra office --extra postgres --extra signin --extra smb --group build --group dev --generate-hashes --python-version 3.11 --quiet --no-header -o locks/dev.txt
	$(UV) pip compile --group fuzz --generate-hashes --python-version 3.11 --quiet --no-header -o locks/fuzz.txt
	$(UV) pip compile --group docs --generate-hashes --python-version 3.11 --quiet --no-header -o locks/docs.txt
	$(UV) pip compile --group kerberos --generate-hashes --python-version 3.11 --quiet --no-header -o locks/kerberos.txt
	$(UV) pip compile --group kerberos-build --generate-hashes --python-version 3.11 --quiet --no-header -o locks/kerberos-build.txt
	$(UV) pip compile --group audit --generate-hashes --python-version 3.11 --quiet --no-header -o locks/audit.txt
	echo uv==$(UV_VERSION) | $(UV) pip compile - --generate-hashes --python-version 3.11 --quiet --no-header --no-annotate -o locks/uv.txt

clean:
	rm -rf $(VENV) .tools
