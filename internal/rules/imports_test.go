package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule forbids that packages in from, without those in except, import packages in to, without those
// in allow. Packages of this module are written as paths from the root. "lab/..." is lab and all
// packages below it; "..." is every package.
type rule struct {
	from, except []string
	to, allow    []string
	tests        bool // applies to test files, too
	why          string
}

const commandOnly = "only the command reads flags: a library takes its settings as a struct"

// importRules state the direction of dependencies. They are policy: change one only together with
// ARCHITECTURE.md, and never to make a test pass.
var importRules = []rule{
	{from: []string{"serve/..."}, to: []string{"weir/..."}, allow: []string{"weir/serve/..."}, tests: true,
		why: "serve is a leaf that everything may import: it imports nothing of ours"},
	{from: []string{"flow/..."}, to: []string{"weir/..."}, allow: []string{"weir/flow/..."}, tests: true,
		why: "flow is a leaf that everything may import: it imports nothing of ours"},
	{from: []string{"wire/..."}, to: []string{"weir/..."}, allow: []string{"weir/wire/..."}, tests: true,
		why: "wire is a leaf that everything may import: it imports nothing of ours"},

	{from: []string{"tcpip/..."}, to: []string{"weir/web/...", "weir/chat/..."}, tests: true,
		why: "the parts meet at net.Listener and net.Conn, so that each can be used without the others"},
	{from: []string{"web/..."}, to: []string{"weir/tcpip/...", "weir/chat/..."}, tests: true,
		why: "the parts meet at net.Listener and net.Conn, so that each can be used without the others"},
	{from: []string{"chat/..."}, except: []string{"chat/page/...", "chat/host"}, to: []string{"weir/tcpip/...", "weir/web/..."}, tests: true,
		why: "the parts meet at net.Listener and net.Conn, so that each can be used without the others; only chat/page is a web site, and chat/host serves it"},
	{from: []string{"chat/page/...", "chat/host"}, to: []string{"weir/tcpip/..."}, tests: true,
		why: "the page runs over any net.Listener"},

	{from: []string{"..."}, except: []string{"cmd/weir", "lab/...", "docs"}, to: []string{"weir/lab/..."}, tests: true,
		why: "the lab measures the other packages, so they must not depend on it"},
	{from: []string{"subjects/..."}, to: []string{"weir/..."}, tests: true,
		allow: []string{"weir/serve/...", "weir/flow/...", "weir/web/...", "weir/tcpip/...", "weir/subjects/internal/..."},
		why:   "a server under test imports only what is measured, or the lab would measure itself"},
	{from: []string{"..."}, except: []string{"cmd/..."}, to: []string{"weir/cmd/..."}, tests: true,
		why: "cmd is wiring: code that two packages need belongs into a package of its own"},

	{from: []string{"serve/lifecycle", "tcpip/tcp", "web/http1", "chat/irc", "lab/stat"}, to: []string{"net", "os", "os/...", "sync", "sync/...", "syscall"},
		why: "it is a pure function of its input and of the time it is given, so that it can be replayed, fuzzed and tested in virtual time"},
	{from: []string{"chat/core", "chat/environment"}, to: []string{"net", "os", "os/...", "sync", "sync/...", "syscall", "weir/serve/...", "weir/flow/..."},
		why: "a chat's state is a function of its calls: the service around it has the connections, the clock and the workers"},
	{from: []string{"chat/client"}, to: []string{"net", "os", "os/...", "sync", "sync/...", "syscall"},
		why: "a client's state is a function of its input: its callers have the connections and clocks"},
	{from: []string{"..."}, except: []string{"cmd/weir", "subjects/..."}, to: []string{"flag", "github.com/alecthomas/kong", "github.com/jotaen/kong-completion"},
		why: commandOnly},
	{from: []string{"..."}, except: []string{"lab/agent"}, to: []string{"github.com/nats-io/..."},
		why: "only loads from several machines need a message server: it is large"},
}

// matches reports whether name equals the pattern, or is below it if the pattern ends in "/...".
func matches(pattern, name string) bool {
	stem, below := strings.CutSuffix(pattern, "...")
	if !below {
		return name == pattern
	}
	return strings.HasPrefix(name+"/", stem)
}

// anyMatches reports whether one of the patterns matches name.
func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// binds reports whether the rule applies to the file s.
func (r rule) binds(s *source) bool {
	return anyMatches(r.from, s.pkg()) && !anyMatches(r.except, s.pkg()) && (r.tests || !s.isTest())
}

// forbids reports whether the rule forbids an import.
func (r rule) forbids(imported string) bool {
	return anyMatches(r.to, imported) && !anyMatches(r.allow, imported)
}

func importFaults(rules []rule, files []*source) []string {
	var faults []string
	for _, s := range files {
		for _, spec := range s.file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for _, r := range rules {
				if r.binds(s) && r.forbids(imported) {
					faults = append(faults, fmt.Sprintf("%s: %s must not import %s: %s", s.at(spec), s.pkg(), imported, r.why))
				}
			}
		}
	}
	return faults
}

func TestImports(t *testing.T) { report(t, importFaults(importRules, sources(t))) }

func TestImportRulesCatchABadExample(t *testing.T) {
	for _, c := range []struct {
		file, imported string
		bad            bool
	}{
		{"serve/run.go", "weir/lab/load", true},
		{"serve/run_test.go", "weir/lab/load", true},
		{"serve/loop/run.go", "weir/serve", false},
		{"serve/run.go", "net", false},
		{"serve/lifecycle/session.go", "sync", true},
		{"flow/net.go", "weir/serve", true},
		{"wire/ip.go", "weir/flow", true},
		{"tcpip/tcp/conn.go", "weir/web", true},
		{"tcpip/tcp/conn.go", "weir/wire", false},
		{"tcpip/tcp/conn.go", "sync/atomic", true},
		{"tcpip/tcp/conn_test.go", "sync", false},
		{"tcpip/link/tap.go", "os", false},
		{"web/http1/parse.go", "net", true},
		{"web/http1/parse.go", "net/netip", false},
		{"web/site.go", "weir/chat/irc", true},
		{"chat/service.go", "weir/web", true},
		{"chat/core/core.go", "weir/flow", true},
		{"chat/core/core.go", "sync", true},
		{"chat/core/core.go", "net/netip", false},
		{"chat/core/shell_test.go", "weir/internal/disk/simdisk", false},
		{"chat/page/page.go", "weir/web", false},
		{"chat/page/page.go", "weir/tcpip", true},
		{"chat/host/web.go", "weir/web/server", false},
		{"chat/service.go", "weir/lab/stat", true},
		{"lab/load/load.go", "weir/lab/stat", false},
		{"lab/run.go", "weir/cmd/weir", true},
		{"laboratory/run.go", "weir/lab", true},
		{"cmd/weir/run.go", "weir/lab", false},
		{"subjects/go-serve/main.go", "weir/serve", false},
		{"subjects/go-serve/main.go", "weir/lab/sample", true},
		{"subjects/go-serve/main.go", "flag", false},
		{"lab/load/load.go", "flag", true},
		{"lab/load/load.go", "github.com/alecthomas/kong", true},
		{"lab/stat/ratio.go", "os", true},
		{"lab/agent/server.go", "github.com/nats-io/nats-server/v2/server", false},
		{"lab/run.go", "github.com/nats-io/nats-server/v2/server", true},
	} {
		s := parse(t, c.file, "package p\nimport _ "+strconv.Quote(c.imported)+"\n")
		if faults := importFaults(importRules, []*source{s}); (len(faults) > 0) != c.bad {
			t.Errorf("%s importing %s: faults %q, want some: %v", c.file, c.imported, faults, c.bad)
		}
	}
}
