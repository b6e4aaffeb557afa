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
	if n > 300 {
		t.Errorf("10000 kinds within an hour: %d lines, want a few hundred at most", n)
	}
}
