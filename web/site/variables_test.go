package site

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web"
	"weir/web/internal/webtest"
)

// parseWith is Parse with values of variables; env is the environment.
func parseWith(t *testing.T, text string, set, env map[string]string) (*Site, error) {
	t.Helper()
	in := newEnvironment(nil, true)
	in.values = Values{Set: set, LookupEnv: func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}}
	s, err := parse("site.hcl", []byte(text), in)
	if s != nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// body is what a site answers.
func (s *Site) body(t *testing.T) string {
	t.Helper()
	h, err := web.New(s.Services[0].Pipe, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	return w.Body.String()
}

func TestAVariableHasItsValueFromTheFlagElseTheEnvironmentElseTheFile(t *testing.T) {
	const text = `
		variable "greeting" {
		  default = "from the file"
		  env     = "GREETING"
		}
		text { text = "hello ${var.greeting}" }
	`
	env := map[string]string{"GREETING": "from the environment", "greeting": "wrong"}
	set := map[string]string{"greeting": "from the flag"}
	for _, c := range []struct {
		set, env map[string]string
		want     string
	}{{nil, nil, "from the file"}, {nil, env, "from the environment"}, {set, env, "from the flag"}, {set, nil, "from the flag"}, {nil, map[string]string{"GREETING": ""}, ""}} {
		s, err := parseWith(t, text, c.set, c.env)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.body(t); got != "hello "+c.want {
			t.Errorf("--set %v, environment %v: got %q, want hello %s", c.set, c.env, got, c.want)
		}
	}
}

// The environment is used only if the file says so: a stranger's variable changes nothing.
func TestTheEnvironmentIsReadOnlyForVariablesThatNameIt(t *testing.T) {
	var asked []string
	in := newEnvironment(nil, true)
	in.values.LookupEnv = func(name string) (string, bool) {
		asked = append(asked, name)
		return "x", true
	}
	s, err := parse("site.hcl", []byte("variable \"a\" { default = \"1\" }\nvariable \"b\" { env = \"B\" }\ntext { text = \"${var.a}${var.b}\" }"), in)
	if err != nil || s.body(t) != "1x" || len(asked) != 1 || asked[0] != "B" {
		t.Errorf("got %v, and lookups of %q; want one of B", err, asked)
	}
}

func TestVariablesStandInEveryAttribute(t *testing.T) {
	s, err := parseWith(t, `
		variable "port"  { default = 8080 }
		variable "limit" { default = 5 }
		variable "hosts" { default = ["10.0.0.0/8"] }
		variable "plain" { default = false }
		variable "late"  {}
		server {
		  listen          = "127.0.0.1:${var.port}"
		  max_connections = var.limit
		  trusted         = var.hosts
		}
		route "/" {
		  when {
		    secure = var.plain
		    status { code = var.late }
		  }
		}
		`, map[string]string{"port": "9090", "limit": "7", "plain": "true", "late": "418"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Services[0].Server; got.Listen != "127.0.0.1:9090" || got.MaxConnections != 7 || len(got.Trusted) != 1 {
		t.Errorf("got %+v, want the values of the variables, converted to the attributes' types", got)
	}
}

func TestErrorsOfVariablesHaveTheirPosition(t *testing.T) {
	const page = "\ntext { text = \"x\" }"
	for name, c := range map[string]struct {
		text, want string
		set        map[string]string
	}{
		"no value":              {"variable \"a\" {}" + page, `site.hcl:1,1-9: Variable without a value; The variable "a" has no default: give it a value by --set a=VALUE.`, nil},
		"no value, with env":    {"variable \"a\" { env = \"A\" }" + page, `by --set a=VALUE, or the environment variable A`, nil},
		"an unknown variable":   {"variable \"port\" { default = 1 }\ntext { text = var.prt }", `site.hcl:2,15-22: Unknown variable; The file has no variable "prt": add a block variable with this name; did you mean "port"?`, nil},
		"none at all":           {"text { text = var.x }", `site.hcl:1,15-20: Unknown variable`, nil},
		"a bare name":           {"text { text = hello }", `site.hcl:1,15-20: Unknown name; There is no "hello" here: write "hello" for a text`, nil},
		"no name":               {"text { text = var }", `Unknown variable`, nil},
		"a function":            {"text { text = upper(\"x\") }", `site.hcl:1,15-25: Function calls not allowed`, nil},
		"twice":                 {"variable \"a\" { default = 1 }\nvariable \"a\" { default = 2 }" + page, `site.hcl:2,10-13: Second variable of this name`, nil},
		"no label":              {"variable {}" + page, `site.hcl:1,1-9: Invalid variable`, nil},
		"a label that is none":  {"variable \"a b\" {}" + page, `site.hcl:1,1-9: Invalid variable`, nil},
		"an attribute too many": {"variable \"a\" { value = 1 }" + page, `site.hcl:1,16-21: Unsupported argument`, nil},
		"a variable of another": {"variable \"a\" { default = 1 }\nvariable \"b\" { default = var.a }" + page, `site.hcl:2,26-29: Variables not allowed`, nil},
		"a variable inside":     {"route \"/\" {\n variable \"a\" {}\n}", `There is no component "variable" here: variables stand in the file itself`, nil},
		"a value for none":      {"variable \"port\" { default = 1 }" + page, `site.hcl:1,1-1: Unknown variable; There is a value for "prt" (--set), and the file has no variable of this name; did you mean "port"?`, map[string]string{"prt": "1"}},
		"a value of no number":  {"variable \"a\" { default = 1 }" + page, `site.hcl:1,1-9: Invalid value; The value of "a" from --set is not a number, as its default is.`, map[string]string{"a": "many"}},
		"a value for a list":    {"variable \"a\" { default = [] }" + page, `The variable "a" is a list`, map[string]string{"a": "x"}},
		"a value of no text":    {"variable \"a\" {}" + page, `is not valid UTF-8`, map[string]string{"a": "\xff"}},
		"a value of no use":     {"variable \"a\" {}\nstatus { code = var.a }", `site.hcl:2,17-22: Unsuitable value type`, map[string]string{"a": "many"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseWith(t, c.text, c.set, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// A value from the flag or the environment may be a password, wherever it is used by mistake.
func TestErrorsNeverShowAGivenValue(t *testing.T) {
	const secret = "http://ann:s3cr\"t pass@host:port/x%zz"
	for _, use := range []string{
		"server { listen = var.secret }\ntext { text = \"x\" }", "server { trusted = [var.secret] }\ntext { text = \"x\" }", "server { run = \"${var.secret}\" }\ntext { text = \"x\" }",
		"server { drain_timeout = var.secret }\ntext { text = \"x\" }", "status { code = var.secret }", "proxy { upstreams = [var.secret] }", "files { dir = var.secret }",
		"log { file = \"${var.secret}/x/y\" }\ntext { text = \"x\" }", "template { file = var.secret }", "when {\n host = var.secret\n text { text = \"x\" }\n}", "when {\n path = var.secret\n text { text = \"x\" }\n}",
		"limit_body { max = var.secret }\ntext { text = \"x\" }", "authenticate { users = var.secret }\ntext { text = \"x\" }",
		"error_pages { files = { (var.secret) = var.secret } }\ntext { text = \"x\" }", "text { text = var.secret + 1 }", "text { text = var.secret.x }", "text { text = var.secret ? 1 : 2 }",
		"text { text = [for a in var.secret: a] }", "text { text = var.secret[0] }", "text { text = \"${[var.secret]}\" }", "text { text = { (var.secret) = 1, (var.secret) = 2 }[var.secret].x }",
		"fastcgi {\n address = var.secret\n dir = var.secret\n}", "bearer {\n algorithm = var.secret\n secret = var.secret\n}\ntext { text = \"x\" }",
		"server {\n tls {\n  self_signed = true\n  names = [var.secret]\n }\n}\ntext { text = \"x\" }",
	} {
		for _, from := range []map[string]string{{"secret": secret}, nil} {
			s, err := parseWith(t, "variable \"secret\" { env = \"SECRET\" }\n"+use, from, map[string]string{"SECRET": secret})
			if err == nil {
				t.Errorf("%s: got %v, want an error", use, s)
				continue
			}
			var explained strings.Builder
			if wrong, ok := errors.AsType[*Error](err); ok {
				_ = wrong.Explain(&explained, 1000, false)
			}
			for _, text := range []string{err.Error(), explained.String()} {
				for _, part := range []string{"s3cr", "pass@", "ann:", "host:port"} {
					if strings.Contains(text, part) {
						t.Errorf("%s: the error shows %q of the value: %s", use, part, text)
					}
				}
			}
		}
	}
}

func TestShortValuesAndThoseOfTheFileAreShown(t *testing.T) {
	for _, text := range []string{"variable \"run\" { default = \"fast as can be\" }", "variable \"run\" {}"} {
		set := map[string]string{}
		want := "fast as can be"
		if !strings.Contains(text, "default") {
			set["run"], want = "fast", "fast"
		}
		if _, err := parseWith(t, text+"\nserver { run = var.run }\ntext { text = \"x\" }", set, nil); err == nil || !strings.Contains(err.Error(), "run is \""+want+"\"") {
			t.Errorf("got %v, want the error to show %q", err, want)
		}
	}
}

func TestEventsNeverShowAGivenValue(t *testing.T) {
	l := live(t, "", `text { text = "x" }`)
	l.environment.values.Set = map[string]string{"host": "secret-host.invalid"}
	l.write(t, "variable \"host\" {}\nproxy { upstreams = [\"http://${var.host}:1\"] }")
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	l.get(t)
	l.trouble(t, "(value of var.host)")
	if u := l.Upstreams()[0]; u.Last == "" || strings.Contains(u.Last, "secret-host") {
		t.Errorf("the last failure on the admin page: got %q, want one without the value", u.Last)
	}
	l.onPanic("", "stage", "secret-host.invalid", nil)
	webtest.Until(t, "the panic is reported without the value", func() bool {
		e := <-l.events
		return e.Type == "panic" && e.Text == "component stage panicked: (value of var.host)\n"
	})
}

func TestAComponentKeepsItsStateUnlessItsVariableChanges(t *testing.T) {
	text := func(rate string) string {
		return "variable \"rate\" { default = " + rate + " }\nlimit_rate {\n rate = var.rate\n burst = 1\n}\ntext { text = \"ok\" }"
	}
	l := live(t, "", text("0.001"))
	for _, c := range []struct{ text, want string }{{text("0.001"), "ok"}, {text("0.001") + "\n#", "429"}, {text("0.002"), "ok"}} {
		l.write(t, c.text)
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		if got := l.get(t); !strings.HasPrefix(got, c.want) {
			t.Errorf("after a reload of %q: got %q, want %s", c.text, got, c.want)
		}
	}
}
