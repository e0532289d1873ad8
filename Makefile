# Five verbs: run, test, check, bench, fmt. (`lock` compiles the requirement locks anew.)
# Three workers on two cores, because many tests wait for processes to die or to come back.
# Everything is called through .venv/bin/python -m: the scripts of a venv break in a path with spaces.

PY = .venv/bin/python
ARGS =
PEERS =

.PHONY: run test check bench fmt lock venv venv-dev

run: venv
	@exec $(PY) -m runtime.supervisor

test: venv-dev
	@$(PY) scripts/ensure_browser.py
	@$(PY) -m pytest -n 3 $(ARGS)

check: venv-dev
	@$(PY) scripts/check.py

bench: venv-dev
	@$(PY) -m benchmarks $(if $(PEERS),--peers) $(ARGS)

fmt: venv-dev
	@$(PY) scripts/check.py --fix

venv:
	@sh scripts/venv.sh requirements.txt

venv-dev:
	@sh scripts/venv.sh requirements-dev.txt

lock: venv-dev
	@$(PY) scripts/lock.py $(ARGS)
