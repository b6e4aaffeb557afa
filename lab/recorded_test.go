package lab

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http"
)

var update = flag.Bool("update", false, "write the golden files")

// Each experiment and variant in the files of the lab has the same plan, and its generator the same
// commands, as in the golden files.
func TestExperimentsHaveTheirPlansAndCommands(t *testing.T) {
	eachForm(t, func(name, variant string, e *Experiment) {
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(name+"-"+variant, "-")+".txt", planAndCommands(t, e))
	})
}

// planAndCommands returns the plan that the results of e record, and the generator's command of
// each cell.
func planAndCommands(t *testing.T, e *Experiment) string {
	t.Helper()
	const name = "server"
	r := &Runner{experiment: e, options: Options{Generator: []string{"weir", "load"}}, subjects: map[string]contender{name: {Subject: &subject.Subject{Name: name, RunCmd: []string{"{cert}"}}}}}
	dir := t.TempDir()
	site := &workload.Site{Workload: strings.Replace(e.Workload, http.Proxy, http.Files, 1), Dir: dir, Host: "127.0.0.1"}
	var err error
	if r.workload, err = e.kind().Open(t.Context(), site, e.Loads); err != nil {
		t.Skip(err) // a stack needs root
	}
	plan, err := json.MarshalIndent(e.plan(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", plan)
	for _, c := range NewPlan(e, nil, 1).Cells {
		fmt.Fprintf(&b, "%s, %d, %s:", c.Load, c.Connections, c.Pattern)
		if l := r.loadNamed(c.Load); l.Alone() {
			b.WriteString(" inside")
		} else {
			for _, arg := range slices.Concat(r.options.Generator, r.loadArgs(Place{Cell: c, Subject: name}, workload.Share{Load: l, Cell: c}, "SERVER:1", 0)) {
				b.WriteString(" " + arg)
			}
		}
		b.WriteString("\n")
	}
	return strings.NewReplacer(filepath.Join(dir, "www"), "WWW", filepath.Join(dir, "tls", "cert.pem"), "CA", dir, "RUN").Replace(b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "experiments", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from the golden file; if that is intended, run go test -update\n%s", name, got)
	}
}
