package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
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

func TestServersOfAFileHaveEnginesOfTheirOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.hcl")
	writeFile(t, file, `
server "own" {
  listen = "127.0.0.1:0"
  engine = "http1"
  model  = "loop"
  text { text = "own" }
}
server "go" {
  listen = "127.0.0.1:0"
  engine = "nethttp"
  text { text = "go" }
}`)
	for _, flags := range [][]string{nil, {"--engine", "http1", "--model", "coroutine"}} {
		s := &served{Cmd: exec.Command(binary(t), append([]string{"serve", file}, flags...)...)}
		first := s.start(t, "server \"own\": serving on")
		second := s.address(t, "server \"go\": serving on")
		for url, want := range map[string]string{first: "own", second: "go"} {
			one := &served{url: url}
			if code, body := one.get(t, ""); code != 200 || body != want {
				t.Errorf("%v: got %d %q, want 200 %q", flags, code, body, want)
			}
		}
		s.stop(t)
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
