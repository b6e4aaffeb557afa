package lograte_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/lograte"
)

func TestTheFirstLineOfAKindIsPassedOnAtOnceAndOthersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		l := lograte.New(time.Minute, func(f string, args ...any) { got = append(got, fmt.Sprintf(f, args...)) })
		l.Say("a", "a1 100%")
		l.Say("b", "b1")
		l.Say("a", "a2")
		l.Say("a", "a3")
		l.Flush(false) // too early
		time.Sleep(time.Minute)
		l.Say("a", "a4")
		l.Say("b", "b2")
		l.Say("b", "b3")
		time.Sleep(time.Minute)
		l.Flush(false)
		l.Flush(true)
		want := "a1 100%|b1|a4 (and 2 more like this)|b2|b3"
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("got %s, want %s", s, want)
		}
	})
}

func TestKindsAreBounded(t *testing.T) {
	n := 0
	l := lograte.New(time.Hour, func(string, ...any) { n++ })
	for i := range 10000 {
		l.Say(fmt.Sprint(i), "line")
	}
	l.Flush(true)
	if n > 300 {
		t.Errorf("10000 kinds within an hour: %d lines, want a few hundred at most", n)
	}
}

// A disk that hangs, or a pipe that is full, must block no caller.
func TestALogThatTakesNothingStopsOnlyTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		takes := make(chan struct{}) // closed by the test: the log takes lines from then on
		l := lograte.New(time.Second, func(f string, args ...any) {
			<-takes
			got = append(got, fmt.Sprintf(f, args...))
		})
		said := 0
		for range 10 {
			for i := range 200 {
				l.Say(fmt.Sprint("kind ", i), "line")
				said++
			}
			time.Sleep(time.Second)
		}
		before := time.Now()
		l.Flush(true)
		if took := time.Since(before); took > time.Second {
			t.Errorf("Flush waited %v, want a second at most", took)
		}
		close(takes)
		synctest.Wait()
		if len(got) < 500 || len(got) > 513 {
			t.Errorf("%d lines waited, want 512 at most", len(got))
		}
		l.Flush(true)
		reported := 0
		for _, line := range got {
			more := 0
			_, _ = fmt.Sscanf(line, "line (and %d more like this)", &more)
			reported += 1 + more
		}
		if reported != said {
			t.Errorf("%d lines are logged or counted, want all %d", reported, said)
		}
	})
}

func TestLinesAreWrittenInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got, want strings.Builder
		l := lograte.New(time.Second, func(f string, args ...any) {
			time.Sleep(time.Millisecond)
			fmt.Fprintf(&got, f, args...)
		})
		for i := range 100 {
			l.Say(fmt.Sprint(i), fmt.Sprint(i, " "))
			fmt.Fprint(&want, i, " ")
		}
		l.Flush(true)
		if got.String() != want.String() {
			t.Errorf("got %s, want %s", &got, &want)
		}
	})
}
