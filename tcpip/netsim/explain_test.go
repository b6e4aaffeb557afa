package netsim

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// runChild runs a world in a child process, and returns its output, and its reports by their name.
func runChild(t *testing.T, world string, env ...string) (output string, reports []string) {
	t.Helper()
	if runtime.GOOS == "js" {
		t.Skip("it starts processes")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	timeout := "60s"
	if strings.Contains(world, "-timeout") {
		timeout = "12s"
	}
	c := exec.Command(self, "-test.run=^TestChild", "-test.v", "-test.timeout="+timeout, "-test.count=1")
	c.Env = append(append(os.Environ(), childVariable+"="+world, "TMPDIR="+dir, "GOCOVERDIR="+dir), env...)
	b, _ := c.CombinedOutput() // the exit code is that of a failed test
	reports, err = filepath.Glob(filepath.Join(dir, "netsim*", "*", "*", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b), reports
}

// Each kind of failure fails its test once, with a text that names it, a report, and the command
// that repeats the seed. The test behind it runs.
func TestAFailedWorldIsOneClearFailure(t *testing.T) {
	for _, c := range []struct {
		world string
		want  []string
	}{
		{"retried POST", []string{"got 2 orders of one teapot, want 1", "Faults that are needed to fail (2 of 6)", "1.05s  failing_test.go:", "partition shop -> client", "Notes before the failure", "order 2 is booked"}},
		{"crash", []string{"that were acknowledged", "crash queue", "(1 of 8)", "With these alone the failure is, at "}},
		{"needs two of eight faults", []string{"both of the planted faults", "Faults that are needed to fail (2 of 8):\n", " 3s  failing_test.go:", " 6s  failing_test.go:"}},
		{"fails without faults", []string{"it fails always", "It fails without its faults, too (1)", "Seeds that fail: "}},
		{"not repeatable", []string{"only the first run fails", "the test is not repeatable"}},
		{"leaked goroutine", []string{"goroutines are left a minute after the end", "failing_test.go:"}},
		{"goroutine that sleeps on", []string{"goroutines are left a minute after the end", "failing_test.go:"}},
		{"hangs", []string{"the world was not over after 1h0m0s of virtual time"}},
		{"spins", []string{"the world was not over after 1m0s of virtual time"}},
		{"panic in the test", []string{"panic in the test: assignment to entry in nil map", "failing_test.go:"}},
		{"panic in a program", []string{"panic in the program of server: planted", "failing_test.go:"}},
		{"panic in a fault", []string{"panic in a function of At: planted", "Faults that are needed to fail (1 of 1)"}},
		{"panic in a clean-up", []string{"panic in a function of Cleanup: planted"}},
		{"Fatal in a clean-up", []string{"planted"}},
		{"Fatal in another goroutine", []string{"of another goroutine"}},
		{"program that returns an error", []string{"the program of server has ended: no disk"}},
		{"hostile names", []string{`"'><b>`}},
		{"bulk", []string{"got 20971520 bytes and error <nil>, want 1"}},
		{"fails by the T", []string{"of the T", "the test has failed by a method of its *testing.T", "was not run again"}},
		{"not over before the -timeout", []string{"the -timeout of go test is near", "was not run again", "failing_test.go:"}},
		{"holds a lock while it writes", []string{"time stands still", "tcp.Config.SendBuffer", "tcpip.(*Conn).Write("}},
		{"names that differ by case", []string{`a host "server" has the name of "Server"`}},
		{"an address as a name", []string{`the name of the host "192.0.2.1" is an address`}},
		{"duplicate host", []string{`the name "server" is empty or taken`}},
	} {
		t.Run(c.world, func(t *testing.T) {
			t.Parallel()
			output, reports := runChild(t, c.world)
			for _, want := range append(c.want, "--- FAIL: TestChild ", "--- PASS: TestChildGoesOn", "netsim: seed 1 failed", "Repeat: WEIR_SEED=1 go test -run '^TestChild$' .") {
				if !strings.Contains(output, want) {
					t.Errorf("got no %q in the output, want it", want)
				}
			}
			if n := strings.Count(output, "netsim: seed"); n != 1 || len(reports) != 1 || strings.Contains(output, "DATA RACE") {
				t.Errorf("got %d failures and %d reports, want 1 and 1, and no race", n, len(reports))
			}
			if t.Failed() {
				t.Log(output)
			}
		})
	}
}

// Of several faults, exactly those are found without which the failure does not happen, also if
// another failure happens without the others.
func TestShrinkFindsTheFaultsThatAreNeeded(t *testing.T) {
	others := func(w *World) {
		var count atomic.Int32
		for n := range 4 {
			w.At(time.Duration(n)*time.Second, func() { count.Add(int32(n)) })
		}
		time.Sleep(5 * time.Second)
		if count.Load() == 0 {
			w.Error("another failure")
		} else if count.Load() >= 5 {
			w.Error("the failure")
		}
	}
	// the first fault is not needed once the second one is left out
	dependent := func(w *World) {
		var ran [3]atomic.Bool
		for n := range ran {
			w.At(time.Duration(n)*time.Second, func() { ran[n].Store(true) })
		}
		time.Sleep(5 * time.Second)
		if ran[2].Load() && (ran[0].Load() || !ran[1].Load()) {
			w.Error("the failure")
		}
	}
	for name, c := range map[string]struct {
		test func(*World)
		want []int
	}{
		"dependent":       {dependent, []int{2}},
		"two of eight":    {failing["needs two of eight faults"], []int{2, 5}},
		"none":            {failing["fails without faults"], nil},
		"a response lost": {failing["retried POST"], []int{2, 3}},
		"slippage":        {others, []int{2, 3}},
	} {
		w := newWorld(1, nil)
		w.runIn(t, c.test)
		if o := shrink(t, w, c.test); !slices.Equal(o.needed, c.want) || !o.repeatable || !o.minimal {
			t.Errorf("%s: got %v, repeatable %v, minimal %v; want %v, true, true", name, o.needed, o.repeatable, o.minimal, c.want)
		}
	}
}

// The search for the faults ends after a hundred runs, and says that it has not tried all.
func TestShrinkEnds(t *testing.T) {
	runs := 0
	all := func(w *World) {
		runs++
		var count atomic.Int32
		for range 200 {
			w.At(time.Second, func() { count.Add(1) })
		}
		time.Sleep(2 * time.Second)
		if count.Load() == 200 {
			w.Error("the failure")
		}
	}
	w := newWorld(1, nil)
	w.runIn(t, all)
	o := shrink(t, w, all)
	var b strings.Builder
	w.recorded().describeFaults(&b, o)
	if text := b.String(); len(o.needed) != 200 || o.minimal || !strings.Contains(text, "200 of 200), and perhaps with fewer") || !strings.Contains(text, "and 180 more faults") {
		t.Errorf("got %d faults, minimal %v, and %q; want 200, false, and that there may be fewer", len(o.needed), o.minimal, text)
	}
	if runs != 102 {
		t.Errorf("got %d runs, want 102", runs)
	}
}

// A failure in a helper has the line of its caller.
func TestHelpersAreNotNamed(t *testing.T) {
	check := func(t testing.TB) {
		t.Helper()
		func() {
			t.Helper()
			t.Error("in a helper")
		}()
	}
	var here int
	w := newWorld(1, nil)
	w.runIn(t, func(w *World) {
		_, _, here, _ = runtime.Caller(0)
		check(w)
	})
	if got, want := w.failedAt(), "explain_test.go:"+strconv.Itoa(here+1); got != want {
		t.Errorf("got a failure at %s, want %s", got, want)
	}
}

// The head of a stack is understood with all that GOTRACEBACK and GODEBUG add to it.
func TestHeadLines(t *testing.T) {
	for head, want := range map[string]string{
		"goroutine 7 [select (durable), synctest bubble 3]:\nmain.f()":                                   "select (durable)",
		"goroutine 7 [sync.Mutex.Lock, 2 minutes, synctest bubble 3]:":                                   "sync.Mutex.Lock, 2 minutes",
		"goroutine 7 gp=0xc0001 m=0 mp=0x85 [running, synctest bubble 3]:":                               "running",
		`goroutine 7 gp=0xc0001 m=nil [sleep (durable), synctest bubble 3 labels:{"seed": "a]: \" 1"}]:`: "sleep (durable)",
	} {
		if state, bubble := headLine(head); state != want || bubble != 3 {
			t.Errorf("%s: got the state %q of bubble %d, want %q of 3", head, state, bubble, want)
		}
	}
	if _, bubble := headLine("goroutine 7 [running]:"); bubble != 0 {
		t.Errorf("got bubble %d outside of one, want 0", bubble)
	}
}

var seedsFailed = regexp.MustCompile(`netsim: seed (\d+) failed`)

// WEIR_SEED runs one seed in place of all.
func TestSeedVariable(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"", "netsim: seed 3 failed"},
		{"3", "netsim: seed 3 failed"},
		{"18446744073709551615", "--- PASS: TestChild "},
		{"2", "--- PASS: TestChild "},
		{"x", `WEIR_SEED is "x": make it the number of a seed`},
		{"-1", `WEIR_SEED is "-1": make it the number of a seed`},
		{"18446744073709551616", "make it the number of a seed"},
	} {
		output, _ := runChild(t, "fails with seed 3", seedVariable+"="+c.value)
		if !strings.Contains(output, c.want) || len(seedsFailed.FindAllString(output, -1)) > 1 {
			t.Errorf("WEIR_SEED=%q: got %s, want %q", c.value, output, c.want)
		}
	}
}

// The command of a report selects one test, whatever its name.
func TestCommandQuotesTheName(t *testing.T) {
	for test, want := range map[string]string{
		"TestOrders":         `WEIR_SEED=17 go test -run '^TestOrders$' .`,
		"TestOrders/a_b":     `WEIR_SEED=17 go test -run '^TestOrders$/^a_b$' .`,
		"TestOrders/a.b+$x'": `WEIR_SEED=17 go test -run '^TestOrders$/^a\.b\+\$x'\''$' .`,
	} {
		if got := command(test, 17); got != want {
			t.Errorf("%s: got %s, want %s", test, got, want)
		}
	}
}
