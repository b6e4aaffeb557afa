package lab

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/internal/certificate"
	"weir/lab/subject"
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
	r := &Runner{experiment: e, options: Options{Generator: []string{"weir", "load"}}, www: "WWW", certificate: certificate.Files{Cert: "CA"},
		subjects: map[string]contender{name: {Subject: &subject.Subject{Name: name}}}}
	plan, err := json.MarshalIndent(e.plan(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", plan)
	for _, c := range NewPlan(e, nil, 1).Cells {
		fmt.Fprintf(&b, "%s, %d, %s:", c.Load, c.Connections, c.Pattern)
		if l := r.loadNamed(c.Load); l.Inside {
			b.WriteString(" inside")
		} else {
			for _, arg := range r.generatorArgs(Place{Cell: c, Subject: name}, l, "SERVER:1") {
				b.WriteString(" " + arg)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
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
