package lab

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/lab/subject"
)

// eachForm calls f for each built-in experiment and each of its variants; variant is empty for the
// experiment as it is.
func eachForm(t *testing.T, f func(name, variant string, e *Experiment)) {
	t.Helper()
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
					t.Fatalf("applying the variant of %s: got error %v, want none", name, err)
				}
			}
			f(name, variant, e)
		}
	}
}

func TestBuiltinExperimentsAndTheirVariantsAreValid(t *testing.T) {
	eachForm(t, func(name, variant string, e *Experiment) {
		if err := e.Validate(); err != nil {
			t.Errorf("%s %s: got error %v, want a valid experiment", name, variant, err)
		}
	})
}

// TestAnExperimentThatIsReadAgainIsValid: a resumed run reads it from its directory.
func TestAnExperimentThatIsReadAgainIsValid(t *testing.T) {
	eachForm(t, func(name, variant string, e *Experiment) {
		must(t, e.Validate())
		text, err := json.Marshal(e)
		must(t, err)
		var again Experiment
		must(t, json.Unmarshal(text, &again))
		if err := again.Validate(); err != nil {
			t.Errorf("%s %s: got error %v, want none", name, variant, err)
		}
		if same, err := json.Marshal(again); err != nil || string(same) != string(text) {
			t.Errorf("%s %s: got another experiment after reading it again (error %v):\n%s\nwant\n%s", name, variant, err, same, text)
		}
	})
}

func TestVariantChangesOnlyItsSettings(t *testing.T) {
	e, err := ReadExperiment("im")
	if err != nil {
		t.Fatal(err)
	}
	question, loads := e.Question, e.Loads
	if err := e.Apply("paper"); err != nil {
		t.Fatal(err)
	}
	if time.Duration(e.Duration) != time.Minute || len(e.Connections) != 7 {
		t.Errorf("got trials of %v and %v connections, want those of the variant", time.Duration(e.Duration), e.Connections)
	}
	if e.Question != question || !reflect.DeepEqual(e.Loads, loads) {
		t.Errorf("the variant changed the question or the loads, want them kept")
	}
}

// TestEveryVariantHasEnoughBlocksForAnInterval: a confidence interval needs two blocks. Every
// experiment has a quick form; one whose question no paper asks has no paper form.
func TestEveryVariantHasEnoughBlocksForAnInterval(t *testing.T) {
	for _, name := range Builtin() {
		for _, variant := range []string{"", "quick", "paper"} {
			e, err := ReadExperiment(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Variants[variant]; variant == "paper" && !ok {
				continue
			}
			if variant != "" {
				err = e.Apply(variant)
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Blocks < 3 || time.Duration(e.Duration) < 2*time.Duration(e.Window) {
				t.Errorf("%s %s got %d blocks of %v with windows of %v, want more", name, variant, e.Blocks, time.Duration(e.Duration), time.Duration(e.Window))
			}
		}
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

func TestInvalidExperimentIsRejectedWithLineAndRemedy(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unknown key", smallExperiment + "color = 1\n", `line 8: there is no setting "load.color"`},
		{"broken syntax", "name = \n", "line 1"},
		{"no load", `subjects = ["a"]` + "\nconnections = [1]", "[[load]]"},
		{"unknown pattern", `patterns = ["often"]` + smallExperiment, "staggered, together, poisson"},
		{"too many connections", strings.Replace(smallExperiment, "8", "80000", 1), "connections: must be numbers from 0 to 60000"},
		{"no rate", strings.Replace(smallExperiment, "rate = 10", "", 1), `load "load1": with 8 connections, staggered: a rate of 0 messages a second is out of range`},
		{"a rate that is no number", strings.Replace(smallExperiment, "= 10\n", "= nan\n", 1), "a rate of NaN messages"},
		{"a rate of next to nothing", strings.Replace(smallExperiment, "= 10\n", "= 1e-9\n", 1), "a rate of 1e-09 messages"},
		{"too much in all", strings.Replace(smallExperiment, "= 10\n", "= 1e6\n", 1), "8000000 messages a second over all connections"},
		{"huge message", strings.Replace(smallExperiment, "100", "10000000", 1), "messages of 10000000 bytes are out of range"},
		{"few bits", smallExperiment + "bits = 7\n", "7 bits a second are out of range"},
		{"bits in no such pattern", smallExperiment + "bits = 1e6\n", "with 8 connections, poisson: bits a second are sent as tcpkali does"},
		{"bits with echoes", `workload = "echo"` + smallExperiment + "bits = 1e6\n", "the latency of echoes cannot be measured with bits a second"},
		{"too much churn", smallExperiment + "churn = 1e6\n", "a churn of 1e+06 connections a second"},
		{"idle ones beyond the ports", smallExperiment + "idle = 59993\n", "8 connections and 59993 idle ones are out of range"},
		{"no messages", strings.Replace(smallExperiment, "8", "0", 1) + "idle = 5\n", "nothing is sent, so there is nothing to measure"},
		{"saturation by bits", "workload = \"echo\"\nsaturation = [70]" + strings.Replace(smallExperiment, "rate = 10", "bits = 1e6", 1), "give it a rate, and no bits"},
		{"saturation by churn", "workload = \"echo\"\nsaturation = [70]" + strings.Replace(smallExperiment, "8", "0", 1) + "churn = 5\n", "saturation raises the rate of connections that send"},
		{"connections twice", strings.Replace(smallExperiment, "[8]", "[8, 64, 8]", 1), "connections: 8 is given twice: name it once"},
		{"a subject twice", strings.Replace(smallExperiment, `["c-fork"]`, `["c-fork", "c-fork"]`, 1), "subjects: c-fork is given twice"},
		{"a pattern twice", `patterns = ["poisson", "poisson"]` + smallExperiment, "patterns: poisson is given twice"},
		{"a share twice", "workload = \"echo\"\nsaturation = [70, 70]" + smallExperiment, "saturation: 70 is given twice"},
		{"short trial", `duration = "1ms"` + smallExperiment, "duration: must be from 200ms"},
		{"bad duration", `duration = "soon"` + smallExperiment, "line 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := ParseExperiment("mine.toml", []byte(test.text))
			if err == nil {
				err = e.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestGoodLoadsAreAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"messages":           smallExperiment,
		"bits":               `patterns = ["staggered", "together"]` + smallExperiment + "bits = 1e6\n",
		"churn alone":        strings.Replace(strings.Replace(smallExperiment, "8", "0", 1), "rate = 10", "churn = 50", 1),
		"churn and idle":     smallExperiment + "churn = 0.5\nidle = 1000\n",
		"saturated and more": "workload = \"echo\"\nsaturation = [70]" + smallExperiment + "churn = 5\n",
	} {
		e, err := ParseExperiment("mine.toml", []byte(text))
		if err == nil {
			err = e.Validate()
		}
		if err != nil {
			t.Errorf("%s: got error %v, want a valid experiment", name, err)
		}
	}
}

// TestLoadInBitsHasARateOfMessages: the results of a load in bits a second have the rate of its
// messages.
func TestLoadInBitsHasARateOfMessages(t *testing.T) {
	e, err := ReadExperiment("im-published")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	if l := e.plan().Loads[0]; l.Bits != 1e6 || l.Rate != 1e6/8/8 {
		t.Errorf("%v bits a second of 8 bytes a message got a rate of %v, want %v", l.Bits, l.Rate, 1e6/8/8)
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
		e.Variants = nil // they are not validated, and JSON has no NaN
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("encoding a valid experiment: got error %v, want none", err)
		}
		again := new(Experiment)
		if err := json.Unmarshal(b, again); err != nil {
			t.Fatalf("parsing the encoded experiment: got error %v, want none:\n%s", err, b)
		}
		if err := again.Validate(); err != nil {
			t.Fatalf("validating the encoded experiment: got error %v, want none:\n%s", err, b)
		}
		if !reflect.DeepEqual(e.plan(), again.plan()) {
			t.Fatalf("parsing the encoded experiment: got the plan\n%+v\nwant\n%+v", again.plan(), e.plan())
		}
	})
}

// TestExperimentsWithWebServersHaveEveryModelOfTheEngine: a model that gets a subject must take
// part in the experiments of its workloads.
func TestExperimentsWithWebServersHaveEveryModelOfTheEngine(t *testing.T) {
	all, err := subject.Discover("..")
	if err != nil {
		t.Fatal(err)
	}
	models := 0
	for _, name := range []string{"web", "pipes", "http", "proxy"} {
		e, err := ReadExperiment(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if !slices.Contains(s.RunCmd, "http1") || !s.Serves(e.Workload) {
				continue
			}
			models++
			if !slices.Contains(e.Subjects, s.Name) {
				t.Errorf("experiment %s: got no %s among its subjects, want every model of the engine http1", name, s.Name)
			}
		}
	}
	if models == 0 {
		t.Error("got no subject that runs the engine http1, want one for each of its models")
	}
}

// TestEveryNameOfAWorkloadHasOne: a subject.toml may name each workload, and no other.
func TestEveryNameOfAWorkloadHasOne(t *testing.T) {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	if !slices.Equal(names, subject.Workloads) {
		t.Errorf("got the workloads %q, want those of subjects, %q", names, subject.Workloads)
	}
}
