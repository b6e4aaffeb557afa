package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
)

func TestPlanIsAnnouncedWithItsDuration(t *testing.T) {
	e, err := ParseExperiment("small", []byte(smallExperiment))
	if err != nil {
		t.Fatal(err)
	}
	no := false
	e.AAControl, e.Patterns, e.Blocks, e.Duration = &no, []string{"staggered"}, 5, workload.Duration(10*time.Second)
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	var said []string
	r := &Runner{experiment: e, subjects: map[string]contender{"c-fork": {Subject: &subject.Subject{WarmMessages: 800}}},
		results: new(result.Results), progress: func(p Progress) { said = append(said, p.Phase+" "+p.What) }}
	var totals []string
	announce := func() {
		r.announcePlan(nil)
		p := r.progressFor(Place{})
		totals = append(totals, fmt.Sprint(p.Total, p.AtMost))
	}
	r.plan = NewPlan(e, []result.Subject{{Name: "c-fork"}}, 1)
	// Ten trials of 10 s, each after 800 messages at 8 x 10 per second: another 10 s.
	announce()
	e.TimeLimit = workload.Duration(time.Minute)
	announce()
	e.TimeLimit = workload.Duration(30 * time.Second)
	announce()
	if got, want := strings.Join(said, "|"), "planned: 10 trials, about 3 minutes|planned: as many of 10 trials as fit 1m0s|"+
		"planned: 2 trials, about 40 seconds: one block of each cell, which is the least and exceeds the limit of 30s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := strings.Join(totals, "|"), "10 false|10 true|2 false"; got != want {
		t.Errorf("the trials of the progress: got the totals and whether they are a maximum %q, want %q as announced", got, want)
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		43 * time.Second: "40 seconds", 25*time.Minute + 10*time.Second: "25 minutes", 99 * time.Minute: "1 h 40 min",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
