package core

import "testing"

// transitionsOf tries every transition of a life cycle, and returns how many its table has.
func transitionsOf[S ~uint8](l lifecycle[S]) (allowed int) {
	for from := range l {
		for to := range l {
			state := S(from)
			func() {
				defer func() {
					if recover() == nil {
						allowed++
					}
				}()
				l.move(&state, S(to))
			}()
		}
	}
	return allowed
}

// A transition that is missing in its table is a bug of the caller.
func TestOtherTransitionsPanic(t *testing.T) {
	for name, c := range map[string]struct{ got, want int }{
		"ownership":    {transitionsOf(ownershipLife), 3},
		"liveness":     {transitionsOf(livenessLife), 7},
		"subscription": {transitionsOf(subscriptionLife), 3},
		"task":         {transitionsOf(taskLife), 10},
	} {
		if c.got != c.want {
			t.Errorf("the table of %s: got %d transitions, want %d", name, c.got, c.want)
		}
	}
	state := unsubscribed
	defer func() {
		if recover() == nil {
			t.Error("a subscription that has ended became live: got no panic, want one")
		}
	}()
	subscriptionLife.move(&state, live)
}
