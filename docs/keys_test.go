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
	"weir/lab/workload/chat"
	"weir/lab/workload/grpc"
	"weir/lab/workload/http"
	"weir/lab/workload/http/httpload"
	"weir/lab/workload/stack"
	"weir/lab/workload/stream"
	"weir/lab/workload/websocket"
)

// tomlKeys returns the keys of a struct, including those of embedded structs and of lists of
// structs.
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
	setting = regexp.MustCompile(`(?m)^\[*([a-z_0-9]+)`)
)

// compareKeys compares the keys that a document explains with those that the program reads.
func compareKeys(t *testing.T, document string, documented, read []string) {
	t.Helper()
	for _, key := range read {
		if !slices.Contains(documented, key) {
			t.Errorf("%s: got no explanation of the key %s, want every key that the program reads", document, key)
		}
	}
	for _, key := range documented {
		if !slices.Contains(read, key) {
			t.Errorf("%s: got the key %s, want only keys that the program reads", document, key)
		}
	}
}

// firsts returns the first group of each match of pattern.
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
	compareKeys(t, "subject.md", firsts(string(text), row), tomlKeys(reflect.TypeFor[subject.Subject]()))
}

// TestTheExamplesOfExperimentsAreCompleteAndValid reads the experiments in the document: blocks
// that start with a name. Together they have every key.
func TestTheExamplesOfExperimentsAreCompleteAndValid(t *testing.T) {
	var documented []string
	all := blocks(t, "experiments.md")
	provideFiles(t)
	for _, b := range all {
		if b.kind != "toml" || !strings.HasPrefix(b.text, "name ") {
			continue
		}
		e, err := lab.ParseExperiment("experiments.md", []byte(b.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Validate(); err != nil {
			t.Errorf("experiments.md: got %v, want a valid experiment:\n%s", err, b.text)
		}
		documented = append(documented, firsts(b.text, setting)...)
	}
	compareKeys(t, "experiments.md", documented, experimentKeys())
}

// provideFiles changes to a folder with the files that the examples of experiments name.
func provideFiles(t *testing.T) {
	t.Helper()
	mix, err := os.ReadFile("requests.toml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string][]byte{"requests.toml": mix, "hello.bin": []byte("\n\x05world")} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// experimentKeys returns the keys of experiments, with those of the loads of all workloads. The
// keys of described requests have a document of their own.
func experimentKeys() []string {
	keys := append(tomlKeys(reflect.TypeFor[lab.Settings]()), "name", "variant", "load")
	for _, load := range []reflect.Type{reflect.TypeFor[stream.Load](), reflect.TypeFor[http.Load](), reflect.TypeFor[websocket.Load](), reflect.TypeFor[chat.Load](), reflect.TypeFor[stack.Load]()} {
		keys = append(keys, tomlKeys(load)...)
	}
	for _, nested := range tomlKeys(reflect.TypeFor[httpload.Request]()) {
		if nested != "path" && nested != "headers" { // also keys of loads
			keys = slices.DeleteFunc(keys, func(key string) bool { return key == nested })
		}
	}
	return append(keys, tomlKeys(reflect.TypeFor[grpc.Load]())...) // has the key status too
}
