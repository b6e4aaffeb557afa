package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/lab/result"
	"weir/lab/workload"
)

func TestEveryRoundOfSharesIsAPalindrome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		shares := []int{70, 85, 95}[:rapid.IntRange(1, 3).Draw(t, "shares")]
		rounds := map[workload.Cell]int{}
		for places := range p.Shares(shares) {
			n, seen := len(places), map[string]int{}
			rounds[places[0].Cell]++
			for i, at := range places {
				mirror := places[n-1-i]
				if at.Subject != mirror.Subject || at.Share != mirror.Share || at.Position != i || at.Cell != places[0].Cell || at.Block != places[0].Block {
					t.Fatalf("place %d: got %+v, mirrored %+v, want equal", i, at, mirror)
				}
				seen[fmt.Sprint(at.Subject, at.Share)]++
			}
			for point, times := range seen {
				if times != 2 || n != 2*len(p.Subjects)*len(shares) {
					t.Fatalf("%s: got %d times among %d, want 2 among %d", point, times, n, 2*len(p.Subjects)*len(shares))
				}
			}
		}
		for _, c := range p.Cells {
			if rounds[c] != p.Blocks {
				t.Fatalf("%v: got %d rounds, want %d", c, rounds[c], p.Blocks)
			}
		}
	})
}

// saturating returns a bench with one echo server that takes 2 ms for each message over all
// connections: its capacity is 500 messages a second.
func saturating(t *testing.T) *bench {
	b := newBench(t, 0)
	text := fmt.Sprintf("name = \"slow\"\nlanguage = \"Go\"\nparadigm = \"goroutine per connection\"\nabout = \"Echoes, one message at a time.\"\n"+
		"workloads = [\"echo\"]\nrun = [%q, \"slow-server\", \"{addr}\", \"{size}\", \"2ms\"]\nwarm_messages = 10\n", os.Args[0])
	must(t, os.MkdirAll(filepath.Join(b.options.Root, "subjects", "slow"), 0o755))
	must(t, os.WriteFile(filepath.Join(b.options.Root, "subjects", "slow", "subject.toml"), []byte(text), 0o644))
	e := b.experiment
	e.Subjects, e.Workload, e.Saturation = []string{"slow"}, "echo", []int{50, 70}
	e.Loads[0].Shared().Rate, e.Duration, e.Window = 40, workload.Duration(600*time.Millisecond), workload.Duration(100*time.Millisecond)
	return b
}

// TestCapacityAndSharesSurviveAnInterruption: no result is lost or measured again.
func TestCapacityAndSharesSurviveAnInterruption(t *testing.T) {
	b := saturating(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	probes := 0
	cut, err := b.run(ctx, func(p Progress) {
		if p.Phase == "trial" && (p.Step == "" || p.Rate <= 0 || p.Done >= p.Total) {
			t.Errorf("got %d of %d done at %v messages/s: %q; want a step, a rate and less than all done", p.Done, p.Total, p.Rate, p.Step)
		}
		if p.Step != "searching its capacity" && p.Done == probes+1 && p.Phase == "trial" {
			interrupt()
		} else if p.Step == "searching its capacity" {
			probes = p.Done + 1
		}
	})
	if !errors.Is(err, context.Canceled) || len(cut.Probes) != probes || len(doneShares(cut)) != 1 {
		t.Fatalf("got %d probes of %d, %d shares and error %v, want one share and context.Canceled", len(cut.Probes), probes, len(doneShares(cut)), err)
	}
	kept, err := result.Read(b.options.Out)
	must(t, err)
	r, err := Resume(t.Context(), b.options.Out, b.options.Generator, nil)
	must(t, err)
	found, err := b.finish(t.Context(), r)
	must(t, err)
	if !reflect.DeepEqual(found.Probes, kept.Probes) || len(kept.Probes) != len(cut.Probes) {
		t.Errorf("got probes %+v before the interruption, %+v after it, want equal", kept.Probes, found.Probes)
	}
	if len(doneShares(found)) != 4 || found.Finished.IsZero() {
		t.Errorf("got %d finished places, want 4; finished %v", len(doneShares(found)), found.Finished)
	}
	checkCapacity(t, found)
}

// doneShares returns the places of a run that need no further measurement.
func doneShares(r *result.Results) map[sharePlace]bool {
	m := map[sharePlace]bool{}
	for _, x := range r.Saturation {
		if x.Accepted || x.Attempt == maxAttempts {
			m[placeOfShare(x)] = true
		}
	}
	return m
}

// checkCapacity compares the result with the server's capacity. A window of 600 ms cannot show
// overloads below 100/600, and a busy machine slows any server.
func checkCapacity(t *testing.T, r *result.Results) {
	t.Helper()
	low, high := r.Bracket("slow", "messages", 4, "staggered")
	if low.Rate <= 0 || low.Rate > 500*1.2 || high.Rate <= low.Rate || high.Rate > low.Rate*(1+bracketPrecision) {
		t.Errorf("got a capacity between %v and %v messages/s, want about 500", low.Rate, high.Rate)
	}
	for _, p := range r.Probes {
		if p.Rate > 500*1.5 && p.KeptUp {
			t.Errorf("a server of 500 messages/s kept up with %+v, want not above 750", p)
		}
	}
	for _, m := range r.Saturation {
		if m.CapacityRate != low.Rate || m.GeneratorBound != high.GeneratorBound || m.Accepted != (len(m.RejectedBecause) == 0) {
			t.Errorf("got the measurement %+v, want the capacity %v, generator bound %v, and accepted only without reasons for rejection", m, low.Rate, high.GeneratorBound)
		}
		if !slices.Contains([]float64{50, 70}, m.SharePercent) || m.LatencyUS.P50 <= 0 || m.CPUPercentMean <= 0 {
			t.Errorf("got the measurement %+v, want a share of 50 or 70 with latency and CPU time", m)
		}
	}
}

func TestSaturationNeedsEchoes(t *testing.T) {
	b := saturating(t)
	b.experiment.Workload = "sink"
	if err := b.experiment.Validate(); err == nil {
		t.Error("got no error for a sink, want one: it does not show whether it keeps up")
	}
}

// serveSlowly is the server of the bench: "slow-server ADDR SIZE TIME" echoes messages of SIZE
// bytes and computes for TIME on each, one at a time over all connections.
func serveSlowly(addr, size, each string) {
	bytes, err := strconv.Atoi(size)
	work, badTime := time.ParseDuration(each)
	l, badAddr := net.Listen("tcp", addr)
	if err := errors.Join(err, badTime, badAddr); err != nil {
		panic(err)
	}
	var mu sync.Mutex
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			for b := make([]byte, bytes); ; {
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
				mu.Lock()
				for until := time.Now().Add(work); time.Now().Before(until); {
				}
				mu.Unlock()
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}()
	}
}

// addCopy adds a copy of a subject under another name.
func (b *bench) addCopy(t *testing.T, name, other string) {
	t.Helper()
	subjects := filepath.Join(b.options.Root, "subjects")
	text, err := os.ReadFile(filepath.Join(subjects, name, "subject.toml"))
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(subjects, other), 0o755))
	must(t, os.WriteFile(filepath.Join(subjects, other, "subject.toml"), []byte(strings.Replace(string(text), strconv.Quote(name), strconv.Quote(other), 1)), 0o644))
	b.experiment.Subjects = append(b.experiment.Subjects, other)
}
