package result

import (
	"math"
	"testing"
	"time"
)

// TestSleepsLimitTheRateAndTheTime checks the limits that sleeps set for any server.
func TestSleepsLimitTheRateAndTheTime(t *testing.T) {
	for _, test := range []struct {
		name        string
		load        Requests
		connections int
		ceiling     float64 // requests/s
		floor       time.Duration
	}{
		{"the article's: a thousand sleeps of 2 s over a hundred connections", Requests{Count: 10_000, SleepMS: 2000, SleepEvery: 10}, 100, 500, 20 * time.Second},
		{"a hundredth of the sleep", Requests{Count: 10_000, SleepMS: 20, SleepEvery: 10}, 100, 50_000, 200 * time.Millisecond},
		{"every request sleeps, one connection", Requests{Count: 5, SleepMS: 100, SleepEvery: 1}, 1, 10, 500 * time.Millisecond},
		{"101 sleeps over 100 connections take two", Requests{Count: 1010, SleepMS: 2000, SleepEvery: 10}, 100, 500, 4 * time.Second},
		{"fewer requests than sleep at all", Requests{Count: 9, SleepMS: 2000, SleepEvery: 10}, 100, 500, 0},
		{"no number of requests", Requests{SleepMS: 2000, SleepEvery: 10}, 100, 500, 0},
		{"no sleeps", Requests{Count: 10_000}, 100, math.Inf(1), 0},
		{"no connections", Requests{Count: 10, SleepMS: 1, SleepEvery: 1}, 0, 0, 0},
	} {
		if ceiling, floor := test.load.Ceiling(test.connections), test.load.Floor(test.connections); ceiling != test.ceiling || floor != test.floor {
			t.Errorf("%s: got a ceiling of %v requests/s and a floor of %v, want %v and %v", test.name, ceiling, floor, test.ceiling, test.floor)
		}
	}
}
