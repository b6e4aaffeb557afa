package reference

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"weir/web/site"
)

var update = flag.Bool("update", false, "write comments.json and docs/site-reference.md")

const document = "../../../docs/site-reference.md"

// TestReferenceIsCurrent checks that comments.json has the comments of the Configs, and that the
// document is what the program would write. With -update it writes both.
func TestReferenceIsCurrent(t *testing.T) {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	c := extract(t)
	if err := e.Encode(c); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"comments.json": data.String(), document: Markdown(blocksWith(c))} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("reading the reference: got %v, want a file: run go generate ./web/site/reference", err)
		}
		if string(got) != want {
			t.Errorf("%s: got %d other bytes, want the generated %d: run go generate ./web/site/reference", name, len(got), len(want))
		}
	}
}

func TestEveryAttributeIsExplained(t *testing.T) {
	for _, b := range Blocks() {
		if b.About == "" || b.Example == "" {
			t.Errorf("%s: about %q, example %q; want both", b.Name, b.About, b.Example)
		}
		for _, a := range b.Attributes {
			isText := a.Type == "string" && a.Unit == "" || strings.HasSuffix(a.Type, "of strings")
			switch {
			case a.Text == "" || a.Example == "" || a.Type == "":
				t.Errorf("%s.%s: got %+v, want a text in the field's comment, and a value in examples/%s.hcl", b.Name, a.Name, a, b.Name)
			case !strings.HasPrefix(a.Text, "`"+a.Name+"` "):
				t.Errorf("%s.%s: got the comment %q, want it to start with the field's name", b.Name, a.Name, a.Text)
			case a.Required && a.Default != "":
				t.Errorf("%s.%s: got required with the default %q, want one of both", b.Name, a.Name, a.Default)
			case !a.Required && a.Default == "" && !isText:
				t.Errorf("%s.%s: got no default, want one in the field's comment, after 0: or Empty:", b.Name, a.Name)
			}
		}
	}
}

func TestTablesNameOnlyWhatExists(t *testing.T) {
	known := map[string]bool{}
	for _, b := range configs() {
		known[b.Name] = true
		for _, a := range attributesOf(b, nil, nil) {
			known[b.Name+"."+a.Name] = true
		}
	}
	for key := range facts {
		if !known[key] {
			t.Errorf("facts: got %s, want only attributes and blocks that exist", key)
		}
	}
	for _, key := range perProcess {
		if !known[key] {
			t.Errorf("perProcess: got %s, want only attributes that exist", key)
		}
	}
	for name := range places {
		if !known[name] {
			t.Errorf("places: got %s, want only blocks that exist", name)
		}
	}
	for _, k := range site.Kinds() {
		if groupIndex(places[k.Name].group) < 0 {
			t.Errorf("places: got no place for %s, want one for every kind", k.Name)
		}
	}
	for name := range notes {
		if !known[name] {
			t.Errorf("notes: got %s, want only blocks that exist", name)
		}
	}
	for _, name := range exampleFiles(t) {
		if !known[name] {
			t.Errorf("examples/%s.hcl: got no block of this name, want one", name)
		}
		text, _ := examples.ReadFile("examples/" + name + ".hcl")
		if formatted := hclwrite.Format(text); !bytes.Equal(formatted, text) {
			t.Errorf("examples/%s.hcl is not formatted; want\n%s", name, formatted)
		}
	}
}

func TestFindSuggestsAName(t *testing.T) {
	if b, err := Find("limit_rate"); err != nil || b.Name != "limit_rate" || len(b.Attributes) != 5 {
		t.Errorf("got %+v, %v; want limit_rate with 5 attributes", b, err)
	}
	if _, err := Find("limit_rat"); err == nil || !strings.Contains(err.Error(), `did you mean "limit_rate"?`) {
		t.Errorf("got %v, want a suggestion", err)
	}
	if names := Names(); !slices.Contains(names, "server") || !slices.Contains(names, "files") {
		t.Errorf("got %q, want the server and the components", names)
	}
}
