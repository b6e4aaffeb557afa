package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
)

// parseFiles parses a site of several files.
func parseFiles(t *testing.T, files map[string]string) (*Site, error) {
	t.Helper()
	in := newEnvironment(nil, true)
	in.read = func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	s, err := parse("site.hcl", []byte(files["site.hcl"]), in)
	if s != nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func TestAnIncludeStandsForTheBlocksOfItsFile(t *testing.T) {
	s, err := parseFiles(t, map[string]string{
		"site.hcl":        "include \"parts/first.hcl\" {}\nroute \"/\" {\n include \"parts/page.hcl\" {}\n}",
		"parts/first.hcl": "include \"variables.hcl\" {}\nserver { listen = \":${var.port}\" }\nheaders { set = { \"X-A\" = \"b\" } }",
		// relative to the file that includes it
		"parts/variables.hcl": "variable \"port\" { default = 8081 }\nvariable \"text\" { default = \"included\" }",
		"parts/page.hcl":      "text { text = var.text }",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.body(t); got != "included" || s.Services[0].Listen != ":8081" {
		t.Errorf("got %q on %s, want included on :8081", got, s.Services[0].Listen)
	}
}

func TestSeveralServersIncludeTheSameBlocks(t *testing.T) {
	s, err := parseFiles(t, map[string]string{
		"site.hcl":   "server \"a\" {\n listen = \":1\"\n include \"common.hcl\" {}\n}\nserver \"b\" {\n listen = \":2\"\n include \"common.hcl\" {}\n}",
		"common.hcl": "tls {\n self_signed = true\n}\nlimit_rate { rate = 1 }\ntext { text = \"x\" }",
	})
	if err != nil || len(s.Services) != 2 || len(s.Services[1].TLS) != 1 || s.body(t) != "x" {
		t.Errorf("got %+v, %v; want two servers with the components and the certificate of common.hcl", s, err)
	}
}

func TestErrorsOfIncludesHaveTheirPosition(t *testing.T) {
	chain := map[string]string{"site.hcl": "include \"f0.hcl\" {}"}
	for i := range 20 {
		chain[fmt.Sprintf("f%d.hcl", i)] = fmt.Sprintf("include \"f%d.hcl\" {}", i+1)
	}
	wide := map[string]string{"site.hcl": strings.Repeat("include \"a.hcl\" {}\n", 100), "a.hcl": strings.Repeat("include \"b.hcl\" {}\n", 100), "b.hcl": strings.Repeat("include \"c.hcl\" {}\n", 100), "c.hcl": ""}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a missing file":         {map[string]string{"site.hcl": "\n include \"none.hcl\" {}"}, "site.hcl:2,10-20: Cannot include; There is no file none.hcl: the name is relative"},
		"a missing file, deeper": {map[string]string{"site.hcl": "include \"d/a.hcl\" {}", "d/a.hcl": "\ninclude \"../b/none.hcl\" {}"}, "d/a.hcl:2,9-24: Cannot include; There is no file b/none.hcl"},
		"an error inside":        {map[string]string{"site.hcl": "include \"a.hcl\" {}", "a.hcl": "\n\n txt {}"}, `a.hcl:3,2-5: Unknown component`},
		"no HCL inside":          {map[string]string{"site.hcl": "include \"a.hcl\" {}", "a.hcl": "route \"/\" {"}, `a.hcl:1,11-12: Unclosed configuration block`},
		"an error of the net":    {map[string]string{"site.hcl": "text { text = \"x\" }\ninclude \"a.hcl\" {}", "a.hcl": "text { text = \"y\" }"}, `a.hcl:1,1-5: Composition that cannot work`},
		"an attribute inside":    {map[string]string{"site.hcl": "include \"a.hcl\" {}", "a.hcl": "listen = \":1\""}, `a.hcl:1,1-7: Unexpected attribute; An included file contains blocks`},
		"itself":                 {map[string]string{"site.hcl": "include \"site.hcl\" {}"}, `site.hcl:1,9-19: Include cycle; The file includes itself: site.hcl includes site.hcl.`},
		"itself by another name": {map[string]string{"site.hcl": "include \"./d/../site.hcl\" {}"}, `Include cycle`},
		"a cycle":                {map[string]string{"site.hcl": "include \"a.hcl\" {}", "a.hcl": "include \"b.hcl\" {}", "b.hcl": "route \"/\" {\n include \"a.hcl\" {}\n}"}, `b.hcl:2,10-17: Include cycle; The file includes itself: site.hcl includes a.hcl includes b.hcl includes a.hcl`},
		"too deep":               {chain, `f9.hcl:1,9-18: Includes too deep`},
		"too many":               {wide, `Too many includes`},
		"too long together":      {map[string]string{"site.hcl": strings.Repeat("include \"a.hcl\" {}\n", 20), "a.hcl": strings.Repeat("#", MaxSize/10)}, `a.hcl:1,1-1: File too long`},
		"no label":               {map[string]string{"site.hcl": "include {}"}, `site.hcl:1,1-8: Invalid include; An include has the name of its file as label`},
		"two labels":             {map[string]string{"site.hcl": "include \"a\" \"b\" {}"}, `Invalid include`},
		"an empty label":         {map[string]string{"site.hcl": "include \"\" {}"}, `Invalid include`},
		"with content":           {map[string]string{"site.hcl": "include \"a.hcl\" {\n text {}\n}"}, `Invalid include`},
		"inside a component":     {map[string]string{"site.hcl": "text {\n text = \"x\"\n include \"a.hcl\" {}\n}", "a.hcl": "status { code = 404 }"}, `a.hcl:1,1-7: Component inside text`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseFiles(t, c.files); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestANonRegularFileIsNotIncluded(t *testing.T) {
	dir := t.TempDir()
	_, err := Parse(filepath.Join(dir, "site.hcl"), []byte("include \".\" {}\ninclude \"/dev/zero\" {}"), nil)
	wrong, ok := errors.AsType[*Error](err)
	if !ok || !strings.Contains(err.Error(), "Cannot include; "+dir+" is not a regular file") || !strings.Contains(fmt.Sprint(wrong.Diagnostics.Errs()), "/dev/zero is not a regular file") {
		t.Errorf("got %v, want an error for the folder and one for the device", err)
	}
}

func TestAChangedIncludeIsReloaded(t *testing.T) {
	l := live(t, "", `text { text = "x" }`)
	part := filepath.Join(filepath.Dir(l.file), "part.hcl")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(part+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(part+".new", part); err != nil {
			t.Fatal(err)
		}
	}
	put(`text { text = "included" }`)
	l.write(t, `include "part.hcl" {}`)
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	<-l.events
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { l.Watch(ctx, nil) })
	defer watching.Wait()
	defer stop()
	put(`text { text = "another length" }`)
	if e := <-l.events; e.Type != "reloaded" || l.get(t) != "another length" {
		t.Errorf("after a change of the included file: got %+v and %q, want a reload", e, l.get(t))
	}
	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
	if e := <-l.events; e.Type != "refused" || !strings.Contains(e.Err.Error(), "There is no file") || l.get(t) != "another length" {
		t.Errorf("after its removal: got %+v and %q, want it refused, and the running site", e, l.get(t))
	}
	put(`text { text = "back" }`)
	if e := <-l.events; e.Type != "reloaded" || l.get(t) != "back" {
		t.Errorf("after its return: got %+v and %q, want a reload", e, l.get(t))
	}
}

// FuzzFile reads hostile files: neither includes nor variables may panic, loop, or show a given
// value, and each error has a position in one of the files.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"include \"part.hcl\" {}", "variable \"a\" {}\ntext { text = var.a }", "variable \"a\" { default = [1] }\nx { y = var.a[0] }", "include \"site.hcl\" {}", "variable \"a\" { env = \"A\" }\nserver { listen = \"${var.a}\" }",
		"text { text = \"${var.a ? 1 : 2}\" }\nvariable \"a\" {}", "include \"../../part.hcl\" {}", "variable \"a\" { default = null }", "variable \"a\" {}\nstatus { code = var.a }", "include part {}",
	} {
		f.Add(seed, "include \"part2.hcl\" {}\ntext { text = var.a }", "given value")
		f.Add(seed, seed, "\xff\x00\"'${}")
	}
	f.Fuzz(func(t *testing.T, text, part, given string) {
		// loops may take long
		if len(text)+len(part) > 4<<10 || strings.Contains(text+part, "for") {
			return
		}
		in := newEnvironment(nil, true)
		in.values = Values{Set: map[string]string{"a": given}, LookupEnv: func(string) (string, bool) { return given, true }}
		in.read = func(string) ([]byte, error) { return []byte(part), nil }
		l := newLoader("site.hcl", in, hclparse.NewParser())
		if body := l.readBody("site.hcl", []byte(text)); body != nil {
			for _, b := range body.Blocks {
				for _, a := range b.Body.Attributes {
					_, diags := a.Expr.Value(l.evaluation)
					l.diags = append(l.diags, diags...)
				}
			}
		}
		isSecret := len(given) >= minSecret && !strings.Contains(text+part, given) && !strings.ContainsRune(given, 0xfffd)
		for _, d := range l.secrets.hideIn(l.diags) {
			if d.Subject == nil || d.Subject.Filename == "" {
				t.Fatalf("got %v, want an error with a position", d)
			}
			if isSecret && strings.Contains(d.Detail, given) {
				t.Fatalf("got %q, want an error without the value %q", d.Detail, given)
			}
		}
	})
}
