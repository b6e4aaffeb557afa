package netsim

import (
	"strings"
	"testing"
	"time"
)

// A Run that fails says how many of its seeds do, and which one first at another place.
func TestARunCountsTheSeedsThatFail(t *testing.T) {
	test := func(w *World) {
		switch w.Seed() {
		case 2, 4:
			w.Error("planted")
		case 5:
			w.Error("planted, too")
		}
	}
	y := &tally{first: 1, run: 1}
	w := newWorld(2, nil)
	w.runIn(t, test)
	y.add(w)
	y.addRest(t, w, 4, time.Hour, test)
	if want := "Seeds that fail: 3 of the 6 from 1 on that were run\n    seed 5 at another place: tally_test.go:16\n"; y.String() != want {
		t.Errorf("got %q, want %q", y.String(), want)
	}
}

// After a world that was given up, no other one is run.
func TestARunStopsAtAWorldThatWasGivenUp(t *testing.T) {
	if output, _ := runChild(t, "hangs"); strings.Contains(output, "Seeds that fail") {
		t.Errorf("got the output\n%s\nwant no count", output)
	}
}
