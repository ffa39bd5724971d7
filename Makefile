# `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0-dev)
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.13.1
BIN     := bin/agentls
SERVERS := mcp/mcptest/servers
MORE    := cmd/agentls-servers
CLIENT  := lsp/lsptest/node
SUITE   := cmd/agentls-conformance/suite
VSCODE  := editors/vscode
# Some servers of others and the conformance suite need it; @angular/cli asks for 22.22.3 at least.
NODE    := 22.23.5

.PHONY: help setup setup-provider setup-editors setup-nvim setup-vscode setup-ripgrep build demo test test-editors test-nvim test-vscode test-vscode-units conformance servers servers-install vsix pictures lint lint-go lint-vscode fmt fuzz bench bench-parts clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(SERVERS)/node_modules/.installed $(CLIENT)/node_modules/.installed $(SERVERS)/bin/.built ## install what the tests need (npm, go, no root)

# npm writes node_modules first, so a mark of our own says that it is whole.
%/node_modules/.installed: %/package-lock.json
	npm ci --prefix $* --ignore-scripts --no-audit --no-fund
	touch $@

# A module of their own keeps what they need out of ours.
$(SERVERS)/bin/.built: $(wildcard $(SERVERS)/gomod/go.* $(SERVERS)/gomod/*/*.go)
	cd $(SERVERS)/gomod && GOWORK=off go build -trimpath -o ../bin/ tool ./...
	cd $(SERVERS)/gomod && GOWORK=off go build -trimpath -o ../bin/mcpgo-everything github.com/mark3labs/mcp-go/examples/everything
	touch $@

setup-provider: ## install a real provider into an ignored folder (apt on a Debian, no root)
	bash agent/openai/llamatest/install.sh

setup-editors: setup-nvim setup-vscode ## install the real editors into an ignored folder (apt, as root; npm)

setup-nvim:
	bash editors/nvim/test/install.sh

setup-vscode: $(VSCODE)/node_modules/.installed
	bash $(VSCODE)/test/install.sh

setup-ripgrep: ## install what search_code is measured against into an ignored folder (apt on a Debian, no root)
	bash cmd/agentls-bench/ripgrep.sh

build: ## build bin/agentls
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $(BIN) ./cmd/agentls

demo: build ## show the main job on the embedded defaults: no key, no network
	$(BIN) demo

# Where the real provider cannot be had its tests are skipped, and that is said.
test: setup ## install what the tests need, and run them all with the race detector
	@[ -n "$$LLAMA_SERVER" ] || bash agent/openai/llamatest/install.sh || [ -z "$$AGENTLS_NEED_PROVIDER" ]
	go test -race -shuffle=on -timeout 20m ./...
	@[ -n "$$LLAMA_SERVER" ] || [ -x .deps/llama.cpp/llama-server ] || \
	  echo "skipped: the tests with a real provider (TestLlama*), which could not be installed"

test-editors: test-nvim test-vscode ## drive the real editors

test-nvim: build setup-nvim
	bash editors/nvim/test/run.sh

test-vscode: build setup-vscode
	bash $(VSCODE)/test/run.sh

test-vscode-units: $(VSCODE)/node_modules/.installed
	npm run -s --prefix $(VSCODE) test:unit

conformance: $(SUITE)/node_modules/.installed ## run MCP's conformance suite against our host (npm)
	go build -trimpath -o bin/agentls-conformance ./cmd/agentls-conformance
	node=$$(bash .ci/node.sh $(NODE)) && PATH=$$node:$$PATH bin/agentls-conformance -suite $(SUITE)

servers: setup servers-install ## connect 40 servers that others wrote and write what was seen to cmd/agentls-servers/SEEN.md
	node=$$(bash .ci/node.sh $(NODE)) && PATH=$$node:$$PATH go run ./cmd/agentls-servers -write cmd/agentls-servers/SEEN.md

servers-install: .deps/servers/npm/.installed .deps/servers/bin/.built

# In .deps, because ./... would find what is in Go in there. sqlite3 is a part
# of two servers that is in C, the only one whose scripts run; bun, 200 MB, is
# started by none. Not `npm ci`: it wants the parts for other systems in the lock,
# which not every registry has.
.deps/servers/npm/.installed: $(wildcard $(MORE)/npm/*)
	mkdir -p $(@D) && cp $(MORE)/npm/* $(@D)/
	npm install --prefix $(@D) --ignore-scripts --no-audit --no-fund --legacy-peer-deps --loglevel=error
	rm -rf $(@D)/node_modules/@oven
	node=$$(bash .ci/node.sh $(NODE)) && PATH=$$node:$$PATH npm_config_nodedir=$$(dirname "$$(readlink -f "$$node")") \
	  npm rebuild --prefix $(@D) --loglevel=error sqlite3
	touch $@

.deps/servers/bin/.built: $(wildcard $(MORE)/gomod/go.*)
	cd $(MORE)/gomod && GOWORK=off go build -trimpath -o ../../../.deps/servers/bin/ tool
	touch $@

vsix: $(VSCODE)/node_modules/.installed ## pack the VS Code extension with its server, for six platforms, into dist
	node $(VSCODE)/scripts/vsix.mjs

pictures: build setup-editors ## take the pictures of the VS Code extension's README anew
	AGENTLS_PICTURES=1 VSCODE=1.139 bash $(VSCODE)/test/run.sh ui/pictures

lint: lint-go lint-vscode ## vet and lint

lint-go:
	go vet ./...
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...
	go run $(LINT) run ./...

lint-vscode: $(VSCODE)/node_modules/.installed
	npm run -s --prefix $(VSCODE) check

fmt: ## format
	go run $(LINT) fmt ./...

# A count, because with a time Go's fuzzer now and then reports its own deadline.
FUZZTIME ?= 20000x
fuzz: ## run every fuzz target for FUZZTIME (20000x; or 60s)
	@set -e; for dir in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go | sed 's/func //'); do \
	    echo "$$dir $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$dir; done; done

bench: build ## measure the binary against the goals and write BENCHMARKS.md
	@bash cmd/agentls-bench/ripgrep.sh || echo "ripgrep could not be installed: its rows will say so"
	go run ./cmd/agentls-bench -agentls $(BIN) -write BENCHMARKS.md

bench-parts: ## run the benchmarks of the parts
	go test -run '^$$' -bench . -benchmem ./...

clean: ## remove what was built and installed
	rm -rf bin dist .deps $(SERVERS)/node_modules $(SERVERS)/bin $(CLIENT)/node_modules $(SUITE)/node_modules
	rm -rf $(VSCODE)/node_modules $(VSCODE)/bin $(VSCODE)/dist $(VSCODE)/out
