package lab

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/stream"
)

// progressing runs a warm-up with 20 progress reports a second. Report i has sent(i) messages in
// total and cost(i) microseconds for each message since the last.
func progressing(w *warming, sent func(i int) int64, cost func(i int) float64) (steps int, err error) {
	var cpu time.Duration
	for i := 1; i < 1_000_000; i++ {
		cpu += time.Duration(cost(i) * float64(sent(i)-w.sentMessages) * float64(time.Microsecond))
		if enough, err := w.addProgress(time.Duration(i)*50*time.Millisecond, sent(i), cpu); enough || err != nil {
			return i, err
		}
	}
	return 0, errors.New("it never ended")
}

func TestWarmUpsLastUntilTheyAreComplete(t *testing.T) {
	load := &stream.Load{Common: workload.Common{Rate: 125}, Size: 1000}
	linear := func(i int) int64 { return int64(400 * i) } // 64 connections
	even := func(int) float64 { return 10 }
	restless := func(i int) float64 { return math.Pow(1.013, float64(i)) }
	for _, test := range []struct {
		name   string
		need   int64
		load   workload.Load
		conns  int
		sent   func(int) int64
		cost   func(int) float64
		steps  int // 0: any
		steady bool
		failed string // part of the failure
		most   time.Duration
	}{
		{"five pieces of progress are the least", 100, load, 64, linear, even, 5, true, "", 0},
		{"the messages that were asked for come first", 8000, load, 64, linear, even, 20, true, "", 0},
		{"a subject that never becomes steady is measured after twice the least time and 4.5 s", 100, load, 64, linear, restless, 100, false, "", 0},
		{"a subject that never becomes steady is measured after twice the time of its messages and a minute", 2000, load, 1, func(i int) int64 { return int64(i * 125 / 57) }, restless, (32 + 60) * 20, false, "", 0},
		{"a subject that takes nothing fails", 100, load, 64, func(int) int64 { return 0 }, even, 200, false, "no message was taken for 10s", 0},
		{"a subject that stops taking messages fails", 8000, load, 64, func(i int) int64 { return min(400, linear(i)) }, even, 201, false, "no message was taken for 10s", 0},
		{"a slow load is waited for", 3, &stream.Load{Common: workload.Common{Rate: 0.5}}, 1, func(i int) int64 { return int64(i / 40) }, even, 5 * 40, true, "", 0},
		{"a subject that takes half of a load fails", 8000, load, 64, func(i int) int64 { return int64(i) }, even, 62*20 + 1, false, "messages in 1m2s and asks for 8000", 0},
		{"short connections are a load", 400, &stream.Load{Churn: 400}, 0, func(i int) int64 { return int64(20 * i) }, even, 20, true, "", 0},
		{"a subject that never becomes steady is measured at the limit", 100, load, 64, linear, restless, 12, false, "", 600 * time.Millisecond},
		{"the limit counts from the messages that were asked for", 8000, load, 64, linear, restless, 27, false, "", 600 * time.Millisecond},
		{"the limit does not hold up a subject that becomes steady", 100, load, 64, linear, even, 5, true, "", time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWarming(test.need, test.load, test.conns, test.most, 0, 0)
			steps, err := progressing(w, test.sent, test.cost)
			var failed failure
			if errors.As(err, &failed) != (test.failed != "") || !strings.Contains(string(failed), test.failed) {
				t.Fatalf("got error %v, want a failure with %q", err, test.failed)
			}
			if d := steps - test.steps; d < -1 || d > 1 {
				t.Errorf("got an end after %d progress reports, want about %d", steps, test.steps)
			}
			if test.failed == "" && w.steady != test.steady {
				t.Errorf("got steady %v, want %v", w.steady, test.steady)
			}
		})
	}
}

func TestLongWarmUpsAreAnnounced(t *testing.T) {
	for messages, want := range map[int]string{1000: "", 50_000: "they take longer than what is measured: slow asks for 50000 messages, which on 1 connection take 6m40s a trial"} {
		said := ""
		e := &Experiment{Name: "test", Settings: Settings{Connections: []int{1, 64}, Loads: []workload.Load{&stream.Load{Common: workload.Common{Name: "l", Rate: 125}, Size: 1}}, Duration: workload.Duration(5 * time.Second)}}
		must(t, e.Validate())
		r := &Runner{experiment: e, plan: NewPlan(e, []result.Subject{{Name: "slow"}}, 1), progress: func(p Progress) { said = p.What },
			subjects: map[string]contender{"slow": {Subject: &subject.Subject{Name: "slow", WarmMessages: messages}}}}
		if r.warnOfWarmUps(); said != want {
			t.Errorf("%d messages: got %q, want %q", messages, said, want)
		}
	}
}
