package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/serve"
	"weir/web/server"
)

// TestTheListOfModelsAgreesWithTheDocuments: a test of the documents compares their table with the
// server.
func TestTheListOfModelsAgreesWithTheDocuments(t *testing.T) {
	out, err := exec.Command(binary(t), "serve", "models", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []engineModel
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/concurrency-models.md")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string][]string{} // by engine, in the order of the models
	for line := range strings.Lines(string(text)) {
		for words, engine := range map[string]string{"| web by net/http": "nethttp", "| web by Weir's engine": "http1"} {
			if strings.HasPrefix(line, words) {
				answers[engine] = strings.Split(line, "|")[2:]
			}
		}
	}
	seen := map[string]int{}
	for _, one := range all {
		i := seen[one.Engine]
		seen[one.Engine]++
		if i >= len(answers[one.Engine]) {
			t.Fatalf("%s by %s: got no column in the table of docs/concurrency-models.md, want one", one.Engine, one.Model)
		}
		if says := strings.TrimSpace(answers[one.Engine][i]); (says == "yes") != one.Runs {
			t.Errorf("%s by %s: the command says %t, the documents %q", one.Engine, one.Model, one.Runs, says)
		}
	}
	if seen["http1"] != 6 || seen["nethttp"] != 6 {
		t.Errorf("got %v rows by engine, want 6 each", seen)
	}
}

// TestTheFlagsHaveTheNamesOfEnginesAndModels: a tag cannot use the list.
func TestTheFlagsHaveTheNamesOfEnginesAndModels(t *testing.T) {
	run := reflect.TypeFor[serveRunCmd]()
	for field, names := range map[string][]string{"Engine": server.Engines(), "Model": serve.WayNames()} {
		f, _ := run.FieldByName(field)
		for tag, separator := range map[string]string{"enum": ",", "placeholder": "|"} {
			got := strings.Split(strings.TrimPrefix(f.Tag.Get(tag), ","), separator)
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
				t.Errorf("the tag %s of the flag --%s: got %q, want %q", tag, strings.ToLower(field), got, want)
			}
		}
	}
}
