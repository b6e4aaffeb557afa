# make lab and make test do everything; the rest are their steps. Each step is a script that can be read and run by itself.

SHELL := /bin/sh
VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)
BINARY ?= build/weir
PREFIX ?= /usr/local
DESTDIR ?=
OUT ?= runs/$(shell date +%Y-%m-%d-%H%M%S)

.PHONY: help install uninstall lab test soak setup setup-lab setup-test build subjects portability peers web-bars lint rules fuzz c-test cross clean

help: ## say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

lab: setup-lab build ## set up what is missing, build, compare the paradigms, write the report
	@build/weir lab build || echo 'make: going on without the subjects that could not be built' >&2
	@build/weir lab run im --quick --out $(OUT)

test: setup-test ## set up what is missing, run every test
	@scripts/test

soak: setup-test build ## run the long tests: seeds, kills, fuzzing, spellings; an hour, goes on where it stopped
	@scripts/soak

setup: setup-lab setup-test ## install, or name, what is missing

setup-lab:
	@scripts/setup lab

setup-test:
	@scripts/setup test

build: ## build the binary, build/weir
	@CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $(BINARY) ./cmd/weir

install: build ## install weir and its manual pages below PREFIX (/usr/local); DESTDIR goes before it
	@install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/man/man1'
	@install -m 755 $(BINARY) '$(DESTDIR)$(PREFIX)/bin/weir'
	@$(BINARY) man '$(DESTDIR)$(PREFIX)/share/man/man1'

uninstall: ## remove what make install has put below PREFIX
	@rm -f '$(DESTDIR)$(PREFIX)/bin/weir' '$(DESTDIR)$(PREFIX)'/share/man/man1/weir.1 '$(DESTDIR)$(PREFIX)'/share/man/man1/weir-*.1

subjects: build ## build the subjects whose toolchain is there
	@build/weir lab build

portability: build ## get other compilers, build and test the C subjects and the C chat server with them
	@scripts/setup portability
	@build/weir lab portability
	@WEIR_CHATTEST_COMPILERS=1 go test -count 1 -timeout 30m -run TestCompilers ./chat/chattest

peers: build ## get the web and chat servers and the stack to compare with, and build them
	@scripts/setup peers
	@for get in subjects/http-*/get subjects/chat-*/get subjects/stack-*/get; do "$$get" || echo "make: going on without $$(basename "$$(dirname "$$get")")" >&2; done
	@build/weir lab build

web-bars: build ## what a web server has to bear: idle connections, slow attacks, a large file
	@scripts/setup web-bars
	@build/weir lab build http-fileserver http-weir-chain http-weir-network
	@scripts/web-bars $(CHECKS)

lint: ## check the formatting, go vet, staticcheck
	@scripts/test format vet staticcheck

rules: ## check the import rules and what the tree may hold
	@scripts/test rules

fuzz: ## run every fuzz target for FUZZTIME (1s)
	@scripts/test fuzz

c-test: setup-test ## test the C parts under the address and undefined-behaviour sanitizers
	@scripts/test c

cross: ## build what is portable for FreeBSD and macOS
	@scripts/test cross

clean: ## remove what was built; runs/ stays
	@rm -rf build
