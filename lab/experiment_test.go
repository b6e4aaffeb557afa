package lab

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
)

func TestBuiltinExperimentsAndTheirVariantsAreValid(t *testing.T) {
	for _, name := range Builtin() {
		for _, variant := range []string{"", "quick", "paper", "saturation"} {
			e, err := ReadExperiment(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Variants[variant]; variant != "" {
				if !ok {
					continue
				}
				if err := e.Apply(variant); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := e.Validate(); err != nil {
				t.Errorf("%s %s: %v", name, variant, err)
			}
		}
	}
}

func TestAVariantChangesWhatItNamesAndNothingElse(t *testing.T) {
	e, err := ReadExperiment("im")
	if err != nil {
		t.Fatal(err)
	}
	question, loads := e.Question, e.Loads
	if err := e.Apply("paper"); err != nil {
		t.Fatal(err)
	}
	if time.Duration(e.Duration) != time.Minute || len(e.Connections) != 7 {
		t.Errorf("the published plan has trials of %v and %v connections", time.Duration(e.Duration), e.Connections)
	}
	if e.Question != question || !reflect.DeepEqual(e.Loads, loads) {
		t.Errorf("the question or the loads changed")
	}
}

const smallExperiment = `
name = "mine"
subjects = ["c-fork"]
connections = [8]
[[load]]
rate = 10
size = 100
`

func TestABadExperimentIsRefusedWithItsPlaceAndARemedy(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unknown key", smallExperiment + "color = 1\n", `line 8: there is no setting "load.color"`},
		{"broken syntax", "name = \n", "line 1"},
		{"no load", `subjects = ["a"]` + "\nconnections = [1]", "[[load]]"},
		{"unknown pattern", `patterns = ["often"]` + smallExperiment, "staggered, together, poisson"},
		{"too many connections", strings.Replace(smallExperiment, "8", "80000", 1), "connections: must be numbers from 1 to 60000"},
		{"no rate", strings.Replace(smallExperiment, "rate = 10", "", 1), `load "load1": rate must be`},
		{"huge message", strings.Replace(smallExperiment, "100", "10000000", 1), "size must be"},
		{"short trial", `duration = "1ms"` + smallExperiment, "duration: must be from 200ms"},
		{"bad duration", `duration = "soon"` + smallExperiment, "line 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := ParseExperiment("mine.toml", []byte(test.text))
			if err == nil {
				err = e.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func FuzzParseExperiment(f *testing.F) {
	f.Add(smallExperiment)
	for _, name := range Builtin() {
		b, _ := builtin.ReadFile("experiments/" + name + ".toml")
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExperiment("fuzz", []byte(text))
		if err != nil || e.Validate() != nil {
			return
		}
		b, err := toml.Marshal(e)
		if err != nil {
			t.Fatalf("a valid experiment cannot be written: %v", err)
		}
		again, err := ParseExperiment("fuzz", b)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, b)
		}
		if err := again.Validate(); err != nil {
			t.Fatalf("what was written is not valid: %v\n%s", err, b)
		}
		if !reflect.DeepEqual(e.plan(), again.plan()) {
			t.Fatalf("reading again gives another plan:\n%+v\n%+v", e.plan(), again.plan())
		}
	})
}
