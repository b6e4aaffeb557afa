package testsize

import (
	"runtime"
	"testing"
)

func TestTheVariableOverridesTheQuickSize(t *testing.T) {
	const variable = "WEIR_TESTSIZE_TEST"
	t.Setenv(variable, "")
	if got := Of(t, variable, 7); got != 7 {
		t.Errorf("unset: got %d, want the quick size 7", got)
	}
	t.Setenv(variable, "1000")
	if got := Of(t, variable, 7); got != 1000 {
		t.Errorf("set to 1000: got %d, want 1000", got)
	}
}

func TestAValueThatIsNoSizeFails(t *testing.T) {
	const variable = "WEIR_TESTSIZE_TEST"
	for _, text := range []string{"0", "-1", "many", "1e6", " 5"} {
		t.Setenv(variable, text)
		r := &recorder{TB: t}
		done := make(chan struct{}) // closed by the goroutine below when Of has ended it
		go func() {
			defer close(done)
			Of(r, variable, 7)
		}()
		<-done
		if !r.failed {
			t.Errorf("%s=%q: got it accepted, want a failure: it is no size", variable, text)
		}
	}
}

// recorder records a failure instead of failing the running test.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(string, ...any) {
	r.failed = true
	runtime.Goexit()
}
