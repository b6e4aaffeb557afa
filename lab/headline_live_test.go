package lab

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/testsize"
	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/stream"
)

// serveHashing receives bytes on every connection and hashes each read a number of times. The test
// binary runs it with the arguments "hashing ADDR TIMES".
func serveHashing(addr, times string) {
	var n int
	if _, err := fmt.Sscan(times, &n); err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go hashReads(c, n)
	}
}

func hashReads(c net.Conn, times int) {
	defer c.Close()
	for b := make([]byte, 4096); ; {
		n, err := c.Read(b)
		for range times {
			sha256.Sum256(b[:n])
		}
		if err == io.EOF {
			return
		}
	}
}

// liveBench is a bench of a quick run of two servers with so many hashes for each message.
func liveBench(t *testing.T, seed uint64, hashes ...int) *bench {
	b := newBench(t)
	b.experiment.Settings = Settings{Connections: []int{64}, Patterns: []string{"staggered", "poisson"}, Blocks: 6, Duration: workload.Duration(time.Second),
		TimeLimit: workload.Duration(195 * time.Second), Loads: []workload.Load{&stream.Load{Common: workload.Common{Name: "messages", Rate: 125}, Size: 1000}}}
	for i, n := range hashes {
		name := fmt.Sprintf("server-%d", i)
		b.experiment.Subjects = append(b.experiment.Subjects, name)
		must(t, os.MkdirAll(filepath.Join(b.options.Root, "subjects", name), 0o755))
		text := fmt.Sprintf("name = %q\nlanguage = \"Go\"\nparadigm = \"goroutine per connection\"\nabout = \"Hashes.\"\n"+
			"workloads = [\"sink\"]\nrun = [%q, \"hashing\", \"{addr}\", \"%d\"]\nwarm_messages = 1000\n", name, os.Args[0], n)
		must(t, os.WriteFile(b.file(fmt.Sprint(i)), []byte(text), 0o644))
	}
	b.options.Seed = seed
	return b
}

// TestLiveHeadlines runs real quick runs of nearly four minutes each: of two equal servers, and of
// two of which one does twice the hashing. WEIR_HEADLINE_RUNS is the number of each. The machine
// should be quiet: the test fails if a planted difference is not found in nine of ten runs, or if
// more than one run in ten finds one that is none.
func TestLiveHeadlines(t *testing.T) {
	runs := testsize.Of(t, "WEIR_HEADLINE_RUNS", 0)
	if runs == 0 {
		t.Skip("set WEIR_HEADLINE_RUNS, for example to 10: a run of each kind takes four minutes")
	}
	found, wrong := 0, 0
	for seed := range uint64(runs) {
		for name, hashes := range map[string][]int{"equal": {20, 20}, "planted": {40, 20}} {
			started := time.Now()
			r, err := liveBench(t, seed+1, hashes...).run(t.Context(), nil)
			must(t, err)
			h := r.Headline
			t.Logf("%s, run %d: %s, ratio %.3f (%.3f to %.3f), %d looks, %d of %d blocks, %d trials in %v, control %.3f (%.3f to %.3f)", name, seed+1, h.Verdict, h.Ratio, h.Low, h.High,
				h.Looks, h.Blocks, h.PlannedBlocks, len(r.Trials), time.Since(started).Round(time.Second), h.ControlRatio, h.ControlLow, h.ControlHigh)
			switch different := h.Verdict == result.Different; {
			case name == "equal" && different, name == "planted" && different && h.Ratio < 1, name == "planted" && h.Verdict == result.Equivalent:
				wrong++
			case name == "planted" && different:
				found++
			}
		}
	}
	if 10*found < 9*runs || 10*wrong > 2*runs {
		t.Errorf("got %d of %d planted differences found and %d false verdicts in %d runs, want nine of ten found and at most one in ten false", found, runs, wrong, 2*runs)
	}
}
