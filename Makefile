# make lab and make test do everything; the other targets are their steps, or longer tests. Each
# step is a script that can also be run by itself.

SHELL := /bin/sh
VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)
BINARY ?= build/weir
PREFIX ?= /usr/local
DESTDIR ?=
OUT ?= runs/$(shell date +%Y-%m-%d-%H%M%S)

.PHONY: help install uninstall lab test soak setup setup-lab setup-test build subjects portability peers web-bars lint rules fuzz c-test cross clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

lab: setup-lab build ## install what is missing, build, compare concurrency models, write a report
	@build/weir lab build || echo 'make: continuing without the subjects that could not be built' >&2
	@build/weir lab run im --quick --out $(OUT)

test: setup-test ## install what is missing, run every test
	@scripts/guest-kernel || echo 'make: continuing without virtual machines' >&2
	@scripts/test

soak: setup-test build ## run the long tests (seeds, kills, fuzzing): an hour at most, resumes if interrupted
	@scripts/guest-kernel || echo 'make: continuing without virtual machines' >&2
	@scripts/soak

setup: setup-lab setup-test ## install what is missing, or print the command that does

setup-lab:
	@scripts/setup lab

setup-test:
	@scripts/setup test

build: ## build the binary, build/weir
	@CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o $(BINARY) ./cmd/weir

install: build ## install weir and its manual pages below PREFIX (/usr/local), staged in DESTDIR
	@install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/man/man1'
	@install -m 755 $(BINARY) '$(DESTDIR)$(PREFIX)/bin/weir'
	@$(BINARY) man '$(DESTDIR)$(PREFIX)/share/man/man1'

uninstall: ## remove what make install installed
	@rm -f '$(DESTDIR)$(PREFIX)/bin/weir' '$(DESTDIR)$(PREFIX)'/share/man/man1/weir.1 '$(DESTDIR)$(PREFIX)'/share/man/man1/weir-*.1

subjects: build ## build the subjects whose toolchain is installed
	@build/weir lab build

portability: build ## install other compilers and test the C subjects and the C chat server with them
	@scripts/setup portability
	@build/weir lab portability
	@WEIR_CHATTEST_COMPILERS=1 go test -count 1 -timeout 30m -run TestEveryCompiler ./chat/chattest

peers: build ## install or build the servers and the stack to compare with
	@scripts/setup peers
	@for get in subjects/http-*/get subjects/chat-*/get subjects/stack-*/get subjects/grpc-*/get; do "$$get" || echo "make: continuing without $$(basename "$$(dirname "$$get")")" >&2; done
	@build/weir lab build

web-bars: build ## test weir serve with idle connections, slow attacks and a large file
	@scripts/setup web-bars
	@build/weir lab build http-fileserver http-weir-chain http-weir-network
	@scripts/web-bars $(CHECKS)

lint: ## check with gofmt, go vet and staticcheck
	@scripts/test format vet staticcheck

rules: ## check the import rules, the language rules and the layout of the tree
	@scripts/test rules

fuzz: ## run every fuzz target for FUZZTIME (1s)
	@scripts/test fuzz

c-test: setup-test ## test the C parts under the address and undefined behaviour sanitizers
	@scripts/test c

cross: ## check that everything compiles for FreeBSD and macOS, and parts for more
	@scripts/test cross

clean: ## remove what was built, except runs/
	@rm -rf build
