package site

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checked checks a site file with flags.
func checked(t *testing.T, text string, flags Values) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "site.hcl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Check(file, flags)
	if err == nil {
		err = s.Close()
	}
	return err
}

const static = "text { text = \"x\" }\n"

func TestModelsThatCannotRunAreRejectedWithTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		flags Values
		want  string // empty: the file is valid
	}{
		"an unknown engine":       {"server {\n  engine = \"apache\"\n}\n" + static, Values{}, `site.hcl:2,3-20: Invalid engine; engine is "apache": write "http1" or "nethttp".`},
		"an unknown model":        {"server {\n  model = \"threads\"\n}\n" + static, Values{}, `site.hcl:2,3-20: Invalid model; model is "threads": write "goroutine", "pool", "loop", "coroutine", "prefork" or "process".`},
		"a model of http1 only":   {"server {\n  engine = \"nethttp\"\n  model  = \"loop\"\n}\n" + static, Values{}, `site.hcl:3,3-18: Model that cannot run; net/http starts a goroutine for each connection, and does not run by loop: choose the engine http1.`},
		"the same with the flag":  {"server {\n  engine = \"nethttp\"\n  model  = \"loop\"\n}\n" + static, Values{Engine: "http1"}, ""},
		"a rate limit":            {"server {\n  engine = \"http1\"\n  model  = \"prefork\"\n}\nlimit_rate { rate = 5 }\n" + static, Values{}, `site.hcl:3,3-21: Model that cannot run; prefork spreads connections over processes, but these components keep something in one: limit_rate (rates of clients)`},
		"the same, other flag":    {"server {\n  engine = \"http1\"\n  model  = \"prefork\"\n}\nlimit_rate { rate = 5 }\n" + static, Values{Model: "coroutine"}, ""},
		"a rate limit and a flag": {"limit_rate { rate = 5 }\n" + static, Values{Engine: "http1", Model: "process"}, `site.hcl:1,1-1: Model that cannot run; process spreads connections over processes`},
		"in a named server": {"server \"a\" {\n  listen = \":1\"\n  engine = \"http1\"\n  model  = \"prefork\"\n  cache {\n    " + static + "  }\n}\n", Values{},
			`site.hcl:4,3-21: Model that cannot run; prefork spreads connections over processes, but these components keep something in one: cache (responses)`},
		"two servers": {"server \"a\" {\n  listen = \":1\"\n  engine = \"http1\"\n  model  = \"prefork\"\n" + static + "}\nserver \"b\" {\n  listen = \":2\"\n" + static + "}\n", Values{},
			`site.hcl:4,3-21: Model that cannot run; The model prefork is for one server, and the site file has 2: choose another model.`},
		"an admin page": {"server {\n  engine = \"http1\"\n  model  = \"prefork\"\n  admin  = \"127.0.0.1:1\"\n}\n" + static, Values{}, `site.hcl:3,3-21: Model that cannot run; The model prefork spreads connections over processes, and the admin page shows one`},
		"HTTP/3": {"server {\n  engine = \"http1\"\n  model  = \"prefork\"\n  tls {\n    cert  = \"c\"\n    key   = \"k\"\n    http3 = true\n  }\n}\n" + static, Values{},
			`site.hcl:3,3-21: Model that cannot run; HTTP/3 has its connections in one process, and prefork has several: leave http3 out`},
		"self-signed":    {"server {\n  engine = \"http1\"\n  model  = \"process\"\n  tls { self_signed = true }\n}\n" + static, Values{}, `site.hcl:3,3-21: Model that cannot run; Certificates by acme and self_signed are renewed in one process`},
		"what processes": {"server {\n  engine = \"http1\"\n  model  = \"process\"\n}\n" + static, Values{}, ""},
	} {
		err := checked(t, c.text, c.flags)
		switch said, ok := errors.AsType[*Error](err); {
		case c.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", name, err)
		case c.want != "" && !ok:
			t.Errorf("%s: got %v, want an error of the file", name, err)
		case c.want != "" && !strings.Contains(said.Error(), c.want):
			t.Errorf("%s: got %v, want %q", name, said, c.want)
		}
	}
}

func TestFlagsPrecedeTheEngineAndTheModelOfEachServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.hcl")
	text := "server \"a\" {\n  listen = \":1\"\n  engine = \"http1\"\n  model  = \"loop\"\n" + static + "}\nserver \"b\" {\n  listen = \":2\"\n" + static + "}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flags, a, b Values }{
		{Values{}, Values{Engine: "http1", Model: "loop"}, Values{}},
		{Values{Engine: "nethttp", Model: "goroutine"}, Values{Engine: "nethttp", Model: "goroutine"}, Values{Engine: "nethttp", Model: "goroutine"}},
		{Values{Model: "pool"}, Values{Engine: "http1", Model: "pool"}, Values{Model: "pool"}},
	} {
		l, err := NewLive(file, "", nil, c.flags)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []Values{c.a, c.b} {
			if got := l.Servers()[i]; got.Engine != want.Engine || got.Model != want.Model {
				t.Errorf("flags %q, %q: the server %s has engine %q and model %q, want %q and %q", c.flags.Engine, c.flags.Model, got.Name, got.Engine, got.Model, want.Engine, want.Model)
			}
		}
		l.Close()
	}
}

// The running model changes only at a restart, so a component that it cannot run is refused even if
// the file has another model now.
func TestAReloadRefusesWhatTheRunningModelCannotRun(t *testing.T) {
	prefork := "server {\n  engine = \"http1\"\n  model  = \"prefork\"\n}\n"
	l := live(t, "", prefork+static)
	for _, c := range []struct{ text, want string }{
		{prefork + "limit_rate { rate = 5 }\n" + static, "limit_rate (rates of clients)"},
		{"limit_rate { rate = 5 }\n" + static, "The model changes only when the program is restarted."},
	} {
		l.write(t, c.text)
		if err := l.Reload(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("reloading %q: got %v, want an error with %q", c.text, err, c.want)
		}
	}
	l.write(t, prefork+"text { text = \"new\" }\n")
	if err := l.Reload(); err != nil || l.get(t) != "new" {
		t.Errorf("a valid file: got %v, want it in effect", err)
	}
}

// TestAnUnknownModelIsReportedOnce requires one message for one mistake.
func TestAnUnknownModelIsReportedOnce(t *testing.T) {
	said, ok := errors.AsType[*Error](checked(t, "server {\n  model = \"threads\"\n}\n"+static, Values{}))
	if !ok {
		t.Fatal("got no error of the file, want one")
	}
	var text strings.Builder
	if err := said.Explain(&text, 200, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "Error: "); n != 1 {
		t.Errorf("got %d errors, want 1:\n%s", n, text.String())
	}
}
