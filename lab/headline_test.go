package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
)

const headlineExperiment = `
subjects    = ["a", "b", "c"]
connections = [8, 64]
patterns    = ["staggered", "poisson"]
HEADLINE
[[load]]
name = "messages"
rate = 125
size = 1000
[[load]]
name     = "small"
rate     = 125
size     = 10
subjects = ["b", "c"]
[variant.quick]
connections = [8]
`

func withHeadline(setting string) []byte {
	return []byte(strings.Replace(headlineExperiment, "HEADLINE", setting, 1))
}

func TestHeadlineThatIsNoComparisonIsAnError(t *testing.T) {
	for _, c := range []struct{ setting, want string }{
		{`headline = { subjects = ["a"] }`, "mine: headline: subjects: name two different ones"},
		{`headline = { subjects = ["a", "a"] }`, "subjects: name two different ones"},
		{`headline = { subjects = ["a", "d"] }`, `the experiment has no subject "d": name two of a, b, c`},
		{`headline = { load = "mesages" }`, `the experiment has no load "mesages": name one of messages, small; did you mean "messages"?`},
		{`headline = { subjects = ["a", "b"], load = "small" }`, `the load "small" is not for a, only for b, c`},
		{`headline = { connections = 32 }`, `the load "messages" has no 32 connections: name one of 8 64`},
		{`headline = { pattern = "closed" }`, `the load "messages" has no pattern "closed": name one of staggered, poisson`},
		{`headline = { metric = "cpu_cv" }`, `there is no metric "cpu_cv": name one of cpu_us_per_message, requests_per_s, mean_us`},
		{`headline = { metric = "requests_per_s" }`, `requests_per_s is not compared under the load "messages"`},
		{`headline = { subject = ["a", "b"] }`, `there is no setting "subject"`},
	} {
		if _, err := ParseExperiment("mine", withHeadline(c.setting)); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "mine.toml", "mine"), strings.TrimPrefix(c.want, "mine: ")) {
			t.Errorf("%s: got error %v, want one with %q", c.setting, err, c.want)
		}
	}
}

func TestHeadlineOfAVariantIsChecked(t *testing.T) {
	e, err := ParseExperiment("mine", withHeadline("headline = { connections = 64 }"))
	must(t, err)
	if err := e.Apply("quick"); err == nil || !strings.Contains(err.Error(), "has no 64 connections") {
		t.Errorf("got error %v, want one that says that the variant has no 64 connections", err)
	}
}

func TestHeadlineOfARun(t *testing.T) {
	measured := func(names ...string) (all []result.Subject) {
		for _, name := range names {
			all = append(all, result.Subject{Name: name})
		}
		return all
	}
	const asked = `headline = { subjects = ["c", "a"], connections = 8, pattern = "poisson" }`
	for _, c := range []struct {
		name, setting string
		subjects      []result.Subject
		connections   []int // of a flag; nil: none
		want          string
	}{
		{"as asked", asked, measured("a", "b", "c"), nil, "c/a messages 8 poisson"},
		{"default", "", measured("a", "b", "c"), nil, "a/b messages 64 staggered"},
		{"default without the first", "", measured("b", "c"), nil, "b/c messages 64 staggered"},
		{"one is missing", asked, measured("a", "b"), nil, "a/b messages 8 poisson; c against a: c does not take part"},
		{"both are missing", asked, measured("b", "d"), nil, "b/d messages 8 poisson; c against a: neither takes part"},
		{"no such connections", asked, measured("a", "b", "c"), []int{1}, "c/a messages 1 staggered; the load messages: it has no 8 connections with the pattern poisson in this run"},
		{"one subject", asked, measured("a"), nil, ""},
		{"CPU is not measured", "", append(measured("a", "c"), result.Subject{Name: "b", Elsewhere: true}), nil, "a/c messages 64 staggered"},
	} {
		e, err := ParseExperiment("mine", withHeadline(c.setting))
		must(t, err)
		if c.connections != nil {
			e.Connections = c.connections
		}
		must(t, e.Validate())
		got := ""
		if h := NewPlan(e, c.subjects, 1).Headline; h != nil {
			got = h.A + "/" + h.B + " " + fmt.Sprint(h.Load, " ", h.Connections, " ", h.Pattern)
			if h.Instead != "" {
				got += "; " + h.Instead
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestHeadlineBlocksArePalindromesOfItsSubjectsAndTheControl(t *testing.T) {
	e, err := ParseExperiment("mine", withHeadline(""))
	must(t, err)
	must(t, e.Validate())
	for seed := range uint64(20) {
		p := NewPlan(e, []result.Subject{{Name: "a"}, {Name: "b"}, {Name: "c"}}, seed)
		for number := range 3 {
			block := p.headlineBlock(number)
			var names []string
			for i, place := range block {
				if place.Subject != block[len(block)-1-i].Subject || place.Position != i || place.Block != result.FirstHeadlineBlock+number {
					t.Fatalf("seed %d, place %d: got %+v, want its position in the palindrome of block %d", seed, i, place, result.FirstHeadlineBlock+number)
				}
				names = append(names, place.Subject)
			}
			want := []string{"a", "b", p.AAControl + result.ControlSuffix}
			if slices.Sort(want); !slices.Equal(slices.Compact(slices.Sorted(slices.Values(names))), want) || len(names) != 6 {
				t.Fatalf("seed %d: got %v, want each of %v twice", seed, names, want)
			}
		}
	}
}

// planned returns a runner of an experiment whose subjects all take part, and its plan.
func planned(t *testing.T, e *Experiment, names ...string) *Runner {
	t.Helper()
	must(t, e.Validate())
	r := &Runner{experiment: e, subjects: map[string]contender{}, results: new(result.Results), progress: func(Progress) {}}
	for _, name := range names {
		s, dir := &subject.Subject{Name: name}, filepath.Join("..", "subjects", name)
		if _, err := os.Stat(dir); err == nil {
			s, err = subject.Read(dir)
			must(t, err)
		}
		r.subjects[name] = contender{Subject: s}
		r.results.Subjects = append(r.results.Subjects, result.Subject{Name: name})
	}
	r.plan = NewPlan(e, r.results.Subjects, 1)
	r.planHeadline()
	return r
}

// TestQuickFormsHaveTimeForTheirHeadline: with as many blocks of its own, the headline is decided
// in nine of ten runs if its ratio is 1.3 (lab/stat/sequential, TestHeadlineIsDecided).
func TestQuickFormsHaveTimeForTheirHeadline(t *testing.T) {
	eachForm(t, func(name, variant string, e *Experiment) {
		if e.TimeLimit == 0 {
			return
		}
		names := e.Subjects
		if len(names) == 0 {
			names = []string{"a", "b"}
		}
		h := planned(t, e, names...).results.Headline
		if h == nil || h.Instead != "" || h.PlannedBlocks < 4 || time.Duration(e.TimeLimit) > 4*time.Minute {
			t.Errorf("%s %s: got the headline %+v in %v, want that of the file with 4 blocks or more in 4m", name, variant, h, time.Duration(e.TimeLimit))
			return
		}
		t.Logf("%s %s: %s / %s, %d blocks", name, variant, h.A, h.B, h.PlannedBlocks)
	})
}

func TestOnlyRunsWithATimeLimitHaveBlocksForTheHeadline(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit time.Duration
		want  int
	}{
		{"no limit", 0, 0},
		{"no time", 30 * time.Second, 0},
		{"some time", 220 * time.Second, 4}, // 40 trials of a round and 4 of each block, of 3.8 s
		{"much time", 10 * time.Hour, maxHeadlineBlocks},
	} {
		e, err := ParseExperiment("mine", withHeadline(""))
		must(t, err)
		no := false
		e.AAControl, e.TimeLimit = &no, workload.Duration(c.limit)
		if got := planned(t, e, "a", "b", "c").results.Headline.PlannedBlocks; got != c.want {
			t.Errorf("%s: got %d planned blocks, want %d", c.name, got, c.want)
		}
	}
}

// timedBench is a bench of two equal servers with time for three blocks of the headline. A trial
// has one attempt, so that rejections do not use up the time.
func timedBench(t *testing.T) *bench {
	b := newBench(t, 0, 0)
	no := false
	b.experiment.AAControl, b.experiment.Blocks, b.experiment.Duration = &no, 1, workload.Duration(shortestWindow)
	b.experiment.TimeLimit, b.options.Attempts = workload.Duration(16*time.Second), 1
	return b
}

// TestHeadlineComesFirstAndIsResumed interrupts a run in the headline's second block. The machine
// may be busy: so nothing is required of the verdict.
func TestHeadlineComesFirstAndIsResumed(t *testing.T) {
	b := timedBench(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	found, err := b.run(ctx, func(p Progress) {
		if p.Place.Block == result.FirstHeadlineBlock+1 && p.Place.Position == 2 {
			interrupt()
		}
	})
	if !errors.Is(err, context.Canceled) || found.Headline == nil || found.Headline.PlannedBlocks != 3 || found.Headline.Verdict != result.Undecided {
		t.Fatalf("got the headline %+v and error %v, want an undecided one with 3 planned blocks and context.Canceled", found.Headline, err)
	}
	r, err := Resume(t.Context(), b.options.Out, b.options.Generator, nil)
	must(t, err)
	resumed, err := b.finish(t.Context(), r)
	must(t, err)
	for i := range found.Trials {
		if !resumed.Trials[i].Started.Equal(found.Trials[i].Started) {
			t.Errorf("trial %d was repeated, want it kept", i+1)
		}
	}
	shared := 0 // trials of blocks that all subjects share
	for _, trial := range resumed.Trials {
		if !trial.OfHeadline() {
			shared++
		} else if shared > 0 {
			t.Errorf("trial %d: got a block of the headline after shared ones, want it before them", trial.ID)
		}
	}
	if h := resumed.Headline; shared < 4 || h.PlannedBlocks != 3 || h.A != "server-0" || h.B != "server-1" || h.Blocks > 3 {
		t.Errorf("got %d trials of shared blocks and the headline %+v, want 4 or more, and server-0 / server-1 in at most 3 blocks", shared, h)
	}
	if kept, err := result.Read(b.options.Out); err != nil || *kept.Headline != *resumed.Headline {
		t.Errorf("got the stored headline %+v and error %v, want %+v", kept.Headline, err, resumed.Headline)
	}
}

// TestResumedRunDoesNotRepeatBlocksThatTheTestHasSeen: a rejected trial of an earlier block stays
// rejected, since another order of the blocks would be another look.
func TestResumedRunDoesNotRepeatBlocksThatTheTestHasSeen(t *testing.T) {
	r := &Runner{results: &result.Results{Trials: []result.Trial{
		{Block: result.FirstHeadlineBlock, Attempt: 1}, {Block: result.FirstHeadlineBlock + 1, Attempt: 1, Accepted: true},
	}}}
	if got := r.lastHeadlineBlock(); got != 1 {
		t.Errorf("got block %d to go on with, want 1: only the last block may be incomplete", got)
	}
	if got := (&Runner{results: &result.Results{}}).lastHeadlineBlock(); got != 0 {
		t.Errorf("no trial: got block %d to start with, want 0", got)
	}
}
