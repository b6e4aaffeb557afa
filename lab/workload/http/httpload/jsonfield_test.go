package httpload

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestJSONFieldsAreFoundAndCompared(t *testing.T) {
	const document = `{"a": {"b.c": [1, -0.0, 1e2, 12345678901234567890], "=": true, "": null, "\\": "x"}, "t": "5", "u": ""}`
	decoded, err := decodeJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`a.b\.c.0=1`: true, `a.b\.c.0=1.0`: true, `a.b\.c.0=10e-1`: true, `a.b\.c.0="1"`: false, `a.b\.c.0=2`: false,
		`a.b\.c.1=0`: true, `a.b\.c.2=100`: true, `a.b\.c.2=100.5`: false,
		`a.b\.c.3=12345678901234567890`: true, `a.b\.c.3=12345678901234567891`: false,
		`a.b\.c.4=1`: false, `a.b\.c.-1=1`: false, `a.b\.c.x=1`: false, `a.b.c=1`: false,
		`a.\==true`: true, `a.\==false`: false, `a.=null`: true, `a.\\=x`: true,
		`t=5`: false, `t="5"`: true, `t=five`: false, `u=`: true, `u=""`: true, `u= `: false, `t.x=5`: false, `v=5`: false,
		`a.b\.c=[1, 0, 100, 12345678901234567890]`: true, `a.b\.c=[1]`: false, `a={}`: false, `a.b\.c=[1, 0, 100, 1]`: false,
		`a={"b.c": [1, 0, 1e2, 12345678901234567890], "=": true, "": null, "\\": "x"}`: true,
		`a={"b.c": [1, 0, 1e2, 12345678901234567890], "=": true, "": null, "\\": "y"}`: false,
		`a={"b.c": [1, 0, 1e2, 12345678901234567890], "=": true, "": null, "z": "x"}`:  false,
	} {
		f, err := parseJSONField(text)
		if err != nil {
			t.Errorf("%s: got error %v, want none", text, err)
			continue
		}
		if why := f.check(decoded); (why == "") != want {
			t.Errorf("%s: got %q, want that it holds: %v", text, why, want)
		}
	}
	for _, bad := range []string{"", "a", `a\`, `a\b=1`, `a\=1`, strings.Repeat("a", MaxPattern) + "="} {
		if _, err := parseJSONField(bad); err == nil {
			t.Errorf("%.20q: got no error, want one", bad)
		}
	}
}

// FuzzJSONField checks that a field is the same after writing and parsing it.
func FuzzJSONField(f *testing.F) {
	for _, text := range []string{"a=1", `a\.b.0.\==x`, `a={"b": [1, null]}`, `\\="x"`, "=", "a=1 2"} {
		f.Add(text)
	}
	escape := strings.NewReplacer(`\`, `\\`, `.`, `\.`, `=`, `\=`)
	f.Fuzz(func(t *testing.T, text string) {
		field, err := parseJSONField(text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		var names []string
		for _, name := range field.path {
			names = append(names, escape.Replace(name))
		}
		value, err := json.Marshal(field.want)
		if err != nil {
			t.Fatalf("%q: the value %v cannot be written: %v", text, field.want, err)
		}
		written := strings.Join(names, ".") + "=" + string(value)
		if len(written) > MaxPattern {
			return
		}
		again, err := parseJSONField(written)
		if err != nil || strings.Join(again.path, "\x00") != strings.Join(field.path, "\x00") || !equalJSON(again.want, field.want) {
			t.Errorf("%q is written as %q, and that is read as %v, error %v; want %v", text, written, again, err, field)
		}
	})
}
