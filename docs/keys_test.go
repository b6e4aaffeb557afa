package docs

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/lab"
	"weir/lab/subject"
)

// tomlKeys collects the keys of a struct, those of embedded structs and of lists of structs
// included.
func tomlKeys(v reflect.Type) []string {
	var keys []string
	for i := range v.NumField() {
		f := v.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if key != "" && key != "-" {
			keys = append(keys, key)
		}
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			keys = append(keys, tomlKeys(f.Type)...)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			keys = append(keys, tomlKeys(f.Type.Elem())...)
		}
	}
	return keys
}

var (
	row     = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")
	setting = regexp.MustCompile(`(?m)^\[*([a-z_]+)`)
)

// same compares the keys that a document explains with those that are read.
func same(t *testing.T, document string, told, read []string) {
	t.Helper()
	for _, key := range read {
		if !slices.Contains(told, key) {
			t.Errorf("%s does not explain the key %s", document, key)
		}
	}
	for _, key := range told {
		if !slices.Contains(read, key) {
			t.Errorf("%s explains %s, which nothing reads", document, key)
		}
	}
}

func firsts(text string, pattern *regexp.Regexp) []string {
	var all []string
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestEveryKeyOfASubjectIsDocumented reads the first column of the table.
func TestEveryKeyOfASubjectIsDocumented(t *testing.T) {
	text, err := os.ReadFile("subject.md")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "subject.md", firsts(string(text), row), tomlKeys(reflect.TypeFor[subject.Subject]()))
}

// TestTheExamplesOfExperimentsAreCompleteAndValid reads the files that the document shows, which
// have names. Together they hold every key.
func TestTheExamplesOfExperimentsAreCompleteAndValid(t *testing.T) {
	var told []string
	for _, b := range blocks(t, "experiments.md") {
		if b.kind != "toml" || !strings.HasPrefix(b.text, "name ") {
			continue
		}
		e, err := lab.ParseExperiment("experiments.md", []byte(b.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		told = append(told, firsts(b.text, setting)...)
	}
	same(t, "experiments.md", told, tomlKeys(reflect.TypeFor[lab.Experiment]()))
}
