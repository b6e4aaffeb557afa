package sample

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"weir/lab/result"
)

const gcLine = "gc 12 @1.250s 2%: 0.026+0.41+0.003 ms clock, 0.053+0.11/0.36/0.74+0.006 ms cpu, 3->4->0 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P"

func TestGCLineIsParsed(t *testing.T) {
	want := GCCycle{12, 1250 * time.Millisecond, [3]float64{0.026, 0.41, 0.003}, [5]float64{0.053, 0.11, 0.36, 0.74, 0.006}}
	got := ParseGC("listening\n" + gcLine + " (forced)\ngc 13 @1.2\n" + gcLine[:40] + gcLine + "\n")
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want only %+v", got, want)
	}
}

func TestGCShareIsOfTheWindow(t *testing.T) {
	c := GCCycle{At: time.Second, Clock: [3]float64{0.2, 5, 0.3}, CPU: [5]float64{1, 2, 3, 3, 1}}
	early, late := c, c
	early.At, late.At = 0, 2*time.Second
	got := SummariseGC([]GCCycle{early, c, late}, time.Second, 2*time.Second, 100*time.Millisecond)
	if want := (result.GC{Cycles: 1, SharePercent: 10, MaxPauseUS: 300}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTraceOfOwnRuntimeIsParsed(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args = []string{programName, "collect 3"}
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	var stderr lines
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := len(ParseGC(string(stderr))); got < 3 {
		t.Errorf("got %d cycles, want 3 or more in %q", got, stderr)
	}
}

type lines []byte

func (l *lines) Write(p []byte) (int, error) { *l = append(*l, p...); return len(p), nil }

func FuzzGCLine(f *testing.F) {
	f.Add(gcLine)
	// an exponent's sign is not a separator
	f.Add("gc 1 @0.000s 0%: 1e7+0+0 ms clock, 0+0/0/0+0 ms cpu, ")
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := parseGCLine(line)
		if !ok {
			return
		}
		again, ok := parseGCLine(c.String())
		if !ok || again != c {
			t.Errorf("%q: got %+v, formatted %q, and %+v when parsed again; want the same", line, c, c, again)
		}
	})
}
