package reference

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"weir/web/site"
)

// inFolderOfExamples changes to a folder that has the files that the examples name.
func inFolderOfExamples(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var mark bytes.Buffer
	if err := png.Encode(&mark, image.NewNRGBA(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"www", "private", "cgi-bin"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"users": "ann:$2a$04$bP3iqHyeHPhkwEjMT4w7CO5IuVJhZcCmGUE7mjLMhPG/lmGVdl4bm\n", "secret": strings.Repeat("s", 32), "mark.png": mark.String(),
		"sorry.html": "sorry", "footer.html": "footer", "page.html": "page", "parts.html": "parts", "www/404.html": "none",
		"common.hcl": "security {}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// load reads a site without side effects (no request is sent to an upstream), and closes it.
func load(t *testing.T, text string) error {
	t.Helper()
	if err := os.WriteFile("site.hcl", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := site.Check("site.hcl")
	if err == nil {
		err = s.Close()
	}
	return err
}

// with returns an example in which an attribute has another value.
func with(t *testing.T, block, attribute, value string) string {
	t.Helper()
	for _, name := range append([]string{block}, Names()...) {
		file, diags := hclwrite.ParseConfig([]byte(exampleOf(name)), name, hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("example of %s: got %v, want valid HCL", name, diags)
		}
		if setAttribute(file.Body(), block, attribute, value) {
			return string(file.Bytes())
		}
	}
	t.Fatalf("got no example with %s.%s, want one", block, attribute)
	return ""
}

func setAttribute(body *hclwrite.Body, block, attribute, value string) bool {
	for _, b := range body.Blocks() {
		if b.Type() == block && b.Body().GetAttribute(attribute) != nil {
			b.Body().SetAttributeRaw(attribute, hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(value)}})
			return true
		}
		if setAttribute(b.Body(), block, attribute, value) {
			return true
		}
	}
	return false
}

func TestExamplesLoad(t *testing.T) {
	inFolderOfExamples(t)
	for _, name := range Names() {
		if err := load(t, exampleOf(name)); err != nil {
			t.Errorf("examples/%s.hcl: got %v, want a site that loads", name, err)
		}
	}
}

// loadsWith reports whether a site loads with the value. An error about another attribute, to which
// the value does not fit, does not count.
func loadsWith(t *testing.T, block, attribute, value string) bool {
	t.Helper()
	err := load(t, with(t, block, attribute, value))
	// an engine or a model may not go together with the rest of the example
	return err == nil || !strings.Contains(err.Error(), attribute) || strings.Contains(err.Error(), "Model that cannot run")
}

func TestValuesAreAllThatLoad(t *testing.T) {
	inFolderOfExamples(t)
	for _, b := range Blocks() {
		for _, a := range b.Attributes {
			write := func(value string) string {
				switch a.Type {
				case "integer":
					return value
				case "list of strings":
					return fmt.Sprintf("[%q]", value)
				}
				return fmt.Sprintf("%q", value)
			}
			for _, v := range a.Values {
				if !loadsWith(t, b.Name, a.Name, write(v)) {
					t.Errorf("%s.%s = %s: got an error, want every listed value to load", b.Name, a.Name, v)
				}
			}
			wrong := map[bool]string{true: "300", false: "nonsense"}[a.Type == "integer"]
			if len(a.Values) > 0 && loadsWith(t, b.Name, a.Name, write(wrong)) {
				t.Errorf("%s.%s = %s: got a site that loads, want an error: the value is not listed", b.Name, a.Name, wrong)
			}
		}
	}
}

func TestRequiredAttributesAreEnforced(t *testing.T) {
	inFolderOfExamples(t)
	for key, f := range facts {
		if block, attribute, _ := strings.Cut(key, "."); f.required && loadsWith(t, block, attribute, `""`) {
			t.Errorf("%s left empty: got a site that loads, want an error: it is listed as required", key)
		}
	}
}

// limitProofs has values inside and outside of each range.
var limitProofs = map[string]struct{ inside, outside []string }{
	notNegative:          {[]string{"0", "1"}, []string{"-1"}},
	positive:             {[]string{"1"}, []string{"0", "-1"}},
	"1 to 100":           {[]string{"1", "100"}, []string{"-1", "101"}},
	"200 to 599":         {[]string{"200", "599"}, []string{"199", "600"}},
	"4,096 or more":      {[]string{"4096"}, []string{"4095", "-1"}},
	"above 0, at most 1": {[]string{"0.01", "1"}, []string{"-0.5", "1.01"}},
	"1 to 256 bytes":     {[]string{`"a"`, `"` + strings.Repeat("a", 256) + `"`}, []string{`""`, `"` + strings.Repeat("a", 257) + `"`}},
	"64 bytes or more":   {[]string{`"64"`}, []string{`"63"`}},
	"1 byte or more":     {[]string{`"1"`}, []string{`"0"`}},
	"5m at most":         {[]string{`"5m"`, `"0s"`}, []string{`"5m1s"`}},
	"1m at most":         {[]string{`"1m"`}, []string{`"1m1s"`}},
	"0 to 1000 each": {
		[]string{`{ "http://10.0.0.1:8080" = 0 }`, `{ "http://10.0.0.1:8080" = 1000 }`},
		[]string{`{ "http://10.0.0.1:8080" = -1 }`, `{ "http://10.0.0.1:8080" = 1001 }`},
	},
	"1 to 16384 each": {[]string{"[1]", "[16384, 1]"}, []string{"[]", "[0]", "[16385]"}},
	"above 0":         {nil, nil}, // see below: the type decides
}

func TestRangesAreEnforced(t *testing.T) {
	inFolderOfExamples(t)
	for _, b := range Blocks() {
		for _, a := range b.Attributes {
			proof, ok := limitProofs[a.Range]
			if a.Range != "" && !ok {
				t.Errorf("%s.%s: got the range %q without values in limitProofs, want some", b.Name, a.Name, a.Range)
			}
			inside, outside := slices.Clone(proof.inside), slices.Clone(proof.outside)
			switch {
			case a.Range == "above 0" && a.Unit == duration:
				inside, outside = []string{`"1s"`}, []string{`"0s"`}
			case a.Range == "above 0":
				inside, outside = []string{"0.5"}, []string{"0", "-1"}
			}
			switch a.Unit {
			case duration:
				outside = append(outside, `"-1s"`, `"soon"`, `"5"`)
			case size:
				outside = append(outside, `"-1"`, `"big"`, `"1.5MB"`)
			}
			for _, v := range inside {
				if !loadsWith(t, b.Name, a.Name, v) {
					t.Errorf("%s.%s = %s: got an error, want it to load: it is within %q", b.Name, a.Name, v, a.Range)
				}
			}
			for _, v := range outside {
				if loadsWith(t, b.Name, a.Name, v) {
					t.Errorf("%s.%s = %s: got a site that loads, want an error: it is not a %s within %q", b.Name, a.Name, v, a.Kind(), a.Range)
				}
			}
		}
	}
}

// TestGroupsAreTheRolesOfTheComponents puts each component before a source: it is rejected if it is
// a source itself. A filter is rejected before every source.
func TestGroupsAreTheRolesOfTheComponents(t *testing.T) {
	inFolderOfExamples(t)
	for _, b := range Blocks() {
		err := load(t, "server { trusted = [\"10.0.0.0/8\"] }\n"+ownBlock(t, b.Name)+"\ntext { text = \"x\" }\n")
		got := Pipes
		switch {
		case err == nil:
		case strings.Contains(err.Error(), "comes after the source"):
			got = Sources
		case strings.Contains(err.Error(), "has no source before it"):
			got = Filters
		}
		if b.Group != got && b.Group != Server && b.Group != Compositions {
			t.Errorf("%s is in the group %q, want %q: %v", b.Name, b.Group, got, err)
		}
	}
}

// ownBlock returns the first block of this type in its example, as text.
func ownBlock(t *testing.T, name string) string {
	t.Helper()
	file, diags := hclwrite.ParseConfig([]byte(exampleOf(name)), name, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("example of %s: got %v, want valid HCL", name, diags)
	}
	var find func(*hclwrite.Body) string
	find = func(body *hclwrite.Body) string {
		for _, b := range body.Blocks() {
			if b.Type() == name {
				return string(b.BuildTokens(nil).Bytes())
			}
			if text := find(b.Body()); text != "" {
				return text
			}
		}
		return ""
	}
	return find(file.Body())
}
