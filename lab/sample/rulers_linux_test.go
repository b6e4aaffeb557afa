package sample

import (
	"context"
	"math"
	"testing"
	"time"
)

func TestTopSumsItsFirstRows(t *testing.T) {
	last := snapshot{at: 0, ticks: map[int]int64{1: 5}, clocks: map[int]time.Duration{}}
	now := snapshot{at: 500 * time.Millisecond, ticks: map[int]int64{1: 6, 2: 0}, clocks: map[int]time.Duration{}}
	for pid := range 65 {
		// 0.14 %, as each of the 65 processes of the published server
		now.clocks[pid] = 700 * time.Microsecond
	}
	if got := sumRows(now.rows(last), topRows); math.Abs(got-2.52) > 1e-9 {
		t.Errorf("18 rows of 0.14 %% of 65: got %v, want 2.52", got)
	}
	if got := sumRows(now.rows(last), 65); math.Abs(got-9.10) > 1e-9 {
		t.Errorf("65 rows of 0.14 %%: got %v, want 9.10", got)
	}
	if got := now.tickPercent(last); math.Abs(got-2) > 1e-9 {
		t.Errorf("one tick in half a second: got %v %%, want 2", got)
	}
}

func TestOtherMethodsAreRead(t *testing.T) {
	g, err := NewGroup("methods")
	if err != nil {
		t.Skip(err)
	}
	defer g.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cmd, out := startProgram(t, g, Placement{}, "burn 1200")
	got := make(chan []Reading)
	go func() { got <- RecordMethods(ctx, g, 100*time.Millisecond) }()
	sumLines(out)
	stop()
	readings := <-got
	_ = cmd.Wait()
	for _, r := range readings {
		if len(r.Percents) == 0 || r.Mean() <= 0 || r.About == "" {
			t.Errorf("%s: got %+v for a busy process, want a mean above 0 and a description", r.Name, r.Percents)
		}
	}
}
