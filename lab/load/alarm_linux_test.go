package load

import (
	"math/rand/v2"
	"testing"
)

// However the guesses of the time after come out, no sleep that says its time has come ends early.
func TestAnAlarmNeverEndsBeforeItsTime(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	random := rand.New(rand.NewPCG(1, 2))
	at := monotonic()
	guess := at
	for range 300 {
		if random.IntN(3) > 0 {
			at = max(guess, at)
		} else {
			at += random.Int64N(200_000) // sometimes in the past by now
		}
		guess = at + random.Int64N(300_000) - 50_000
		for !a.sleep(at, guess) {
		}
		if now := monotonic(); now < at {
			t.Fatalf("woke %d ns before its time", at-now)
		}
	}
}
