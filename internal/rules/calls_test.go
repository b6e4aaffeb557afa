package rules

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// call forbids the use of some names of one package of the standard library.
type call struct {
	from, except []string
	pkg          string
	names        []string
	why          string
}

const (
	exits  = "only the command ends the process: return an error"
	reads  = "only the command reads the environment and the arguments: take what you need as a setting"
	prints = "a library does not print: take an io.Writer or a callback"
	clock  = "the time is an argument here, so that it can be virtual"
)

var command = []string{"cmd/weir", "subjects/..."}

// callRules apply to files that are not tests: a test may run its own binary as another program.
// internal/testsize and tcpip/netsim are for tests, which get settings no other way.
var callRules = []call{
	{from: []string{"..."}, except: command, pkg: "os", names: []string{"Exit"}, why: exits},
	{from: []string{"..."}, except: command, pkg: "log", names: []string{"Fatal", "Fatalf", "Fatalln"}, why: exits},
	{from: []string{"..."}, except: append(slices.Clone(command), "internal/testsize", "tcpip/netsim"), pkg: "os", names: []string{"Args", "Getenv", "LookupEnv", "ExpandEnv"}, why: reads},
	{from: []string{"..."}, except: command, pkg: "fmt", names: []string{"Print", "Printf", "Println"}, why: prints},
	{from: []string{"..."}, except: command, pkg: "log", names: []string{"Print", "Printf", "Println"}, why: prints},
	{from: []string{"serve/lifecycle", "tcpip/tcp", "web/http1", "chat/irc", "chat/core", "chat/client", "lab/stat", "lab/compare"}, pkg: "time",
		names: []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}, why: clock},
}

// localName returns the name under which s imports the package with this path, or "" if it does
// not import it.
func localName(s *source, pkg string) string {
	for _, spec := range s.file.Imports {
		if imported, _ := strconv.Unquote(spec.Path.Value); imported != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

// binds reports whether the rule applies to the file s.
func (c call) binds(s *source) bool {
	return !s.isTest() && anyMatches(c.from, s.pkg()) && !anyMatches(c.except, s.pkg())
}

// readsGODEBUG reports whether n is os.Getenv("GODEBUG"). GODEBUG is a setting of the Go runtime,
// which a caller cannot pass as a parameter.
func readsGODEBUG(n ast.Node) bool {
	c, ok := n.(*ast.CallExpr)
	if !ok || len(c.Args) != 1 {
		return false
	}
	arg, ok := c.Args[0].(*ast.BasicLit)
	return ok && arg.Value == `"GODEBUG"`
}

func callFaults(rules []call, files []*source) []string {
	var faults []string
	for _, s := range files {
		for _, c := range rules {
			local := localName(s, c.pkg)
			if local == "" || !c.binds(s) {
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if readsGODEBUG(n) {
					return false
				}
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(c.names, sel.Sel.Name) {
					faults = append(faults, fmt.Sprintf("%s: %s must not use %s.%s: %s", s.at(n), s.pkg(), c.pkg, sel.Sel.Name, c.why))
				}
				return true
			})
		}
	}
	return faults
}

func TestCalls(t *testing.T) { report(t, callFaults(callRules, sources(t))) }

func TestCallRulesCatchABadExample(t *testing.T) {
	for _, c := range []struct {
		file, imports, use string
		bad                bool
	}{
		{"lab/run.go", `"os"`, "os.Exit(1)", true},
		{"lab/run.go", `system "os"`, "system.Exit(1)", true},
		{"lab/run.go", `"os"`, `_ = os.Getenv("HOME")`, true},
		{"serve/loop.go", `"os"`, `_ = os.Getenv("GODEBUG")`, false},
		{"lab/run.go", `"os"`, "f := os.Exit; f(1)", true},
		{"lab/run.go", `"os"`, "os.Remove(name)", false},
		{"lab/run_test.go", `"os"`, "os.Exit(1)", false},
		{"lab/run.go", `"log"`, "log.Fatal(1)", true},
		{"lab/run.go", `"fmt"`, "fmt.Println(1)", true},
		{"lab/run.go", `"fmt"`, "fmt.Fprintln(w, 1)", false},
		{"cmd/weir/main.go", `"os"`, "os.Exit(1)", false},
		{"subjects/go-serve/main.go", `"os"`, "os.Exit(1)", false},
		{"web/http1/parse.go", `"time"`, "_ = time.Now()", true},
		{"web/http1/parse.go", `"time"`, "_ = time.Second", false},
	} {
		s := parse(t, c.file, "package p\nimport "+c.imports+"\nfunc f() { "+c.use+" }\n")
		if faults := callFaults(callRules, []*source{s}); (len(faults) > 0) != c.bad {
			t.Errorf("%s with %s: faults %q, want some: %v", c.file, c.use, faults, c.bad)
		}
	}
}

// leakChecked reports whether s has a TestMain that ends the tests by goleak.
func leakChecked(s *source) bool {
	found := false
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "TestMain" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == "VerifyTestMain"
			return true
		})
	}
	return found
}

func leakFaults(files []*source) []string {
	checked := map[string]bool{}
	for _, s := range files {
		if s.isTest() {
			checked[s.pkg()] = checked[s.pkg()] || leakChecked(s)
		}
	}
	var faults []string
	for pkg, ok := range checked {
		if !ok {
			faults = append(faults, pkg+": its tests do not detect a leaked goroutine: add a main_test.go with func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }")
		}
	}
	slices.Sort(faults)
	return faults
}

func TestNoGoroutineOutlivesATest(t *testing.T) { report(t, leakFaults(sources(t))) }

func TestLeakRuleCatchesABadExample(t *testing.T) {
	plain := parse(t, "lab/a_test.go", "package lab\nfunc TestA(t *testing.T) {}\n")
	if faults := leakFaults([]*source{plain}); len(faults) != 1 || !strings.Contains(faults[0], "lab:") {
		t.Errorf("a package without TestMain: faults %q, want one", faults)
	}
	main := parse(t, "lab/main_test.go", "package lab\nfunc TestMain(m *testing.M) { goleak.VerifyTestMain(m) }\n")
	if faults := leakFaults([]*source{plain, main}); len(faults) != 0 {
		t.Errorf("a package with goleak in TestMain: faults %q, want none", faults)
	}
}
