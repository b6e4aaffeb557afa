package report

import (
	"bytes"
	"strings"
	"testing"

	"weir/lab/report/reporttest"
	"weir/lab/result"
)

func TestShortConnectionsAreReported(t *testing.T) {
	s := reporttest.New([]int{0, 64}, 1)
	s.Plan.Patterns = []string{"staggered"}
	s.Plan.Loads = []result.Load{{Name: "churn", Size: 100, Churn: 200, Idle: 1000}}
	s.Run()
	text := markdownOf(t, s.Results)
	for _, want := range []string{"598 of 600, 2 late"} {
		if !strings.Contains(text, want) {
			t.Errorf("got a report without %q", want)
		}
	}
	if lines := bytes.Split(trialsCSV(s.Results), []byte("\n")); !bytes.Contains(lines[0], []byte("churn_offered,churn_done,churn_behind")) || !bytes.Contains(lines[1], []byte(",300,299,1,150,900,")) {
		t.Errorf("got a trials.csv without short connections:\n%s\n%s", lines[0], lines[1])
	}
}

// TestTheOfferedTableHasNoEmptyColumn checks that the columns of bursts and of short connections
// are left out if the load has none.
func TestTheOfferedTableHasNoEmptyColumn(t *testing.T) {
	d := digestOf(reporttest.Full())
	for _, g := range d.Groups {
		head := strings.Join(d.offeredTable(g).Head, " ")
		if has := strings.Contains(head, "Spread"); has != (g.Pattern == "together") || strings.Contains(head, "Short") {
			t.Errorf("%s: got the columns %s", g.Pattern, head)
		}
	}
}
