package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"weir/lab/result"
	"weir/lab/sample"
)

// watch observes a subject and the machine over a measured window. Its goroutines sample the
// subject's CPU, and look through the other rulers if asked, from newWatch to stop; everything else
// is read at the window's two ends.
type watch struct {
	subject   *running
	generator *generator
	cancel    context.CancelFunc
	points    chan []sample.Point   // one answer, from the sampling goroutine when it is cancelled
	rulers    chan []sample.Reading // the same, from the one that looks through the other rulers
	census    sample.Census         // from before the window
	counted   time.Duration         // CLOCK_MONOTONIC; when that was
	before    reading
}

// reading is what is read at one end of the window.
type reading struct {
	machine   sample.Machine
	subject   time.Duration // CPU so far
	generator time.Duration
	lab       time.Duration
}

// newWatch begins to sample. The window of the other rulers is 0 when they are not wanted.
func newWatch(s *running, g *generator, rulerWindow time.Duration) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{subject: s, generator: g, cancel: cancel, points: make(chan []sample.Point, 1), rulers: make(chan []sample.Reading, 1)}
	go func() {
		defer close(w.points)
		if s.group != nil {
			w.points <- sample.Record(ctx, s.group, sampleEvery)
		}
	}()
	go func() {
		defer close(w.rulers)
		if s.group != nil && rulerWindow > 0 {
			w.rulers <- sample.RecordRulers(ctx, s.group, rulerWindow)
		}
	}()
	return w
}

// stop ends the sampling and returns what was sampled, the first time; later calls return nothing.
func (w *watch) stop() ([]sample.Point, []sample.Reading) {
	w.cancel()
	return <-w.points, <-w.rulers
}

// look counts the subject's processes, threads and switches. It comes before the window: it costs
// the lab more the more processes there are, and holds each up for a moment.
func (w *watch) look() (err error) {
	if w.subject.group == nil {
		return nil
	}
	began := sample.Monotonic()
	w.census, err = w.subject.group.Census()
	w.counted = (began + sample.Monotonic()) / 2
	return err
}

func (w *watch) begin() (err error) {
	w.before, err = w.read()
	return err
}

// read reads the lab's own CPU last, so that what reading the machine costs is the lab's at both
// ends.
func (w *watch) read() (r reading, err error) {
	var errs [3]error
	r.machine, errs[0] = sample.ReadMachine()
	r.subject, errs[1] = w.subject.cpu()
	r.generator, errs[2] = w.generator.group.CPU()
	r.lab = ownCPU()
	return r, errors.Join(errs[:]...)
}

// observed is what a watch saw between two moments.
type observed struct {
	from     time.Duration  // CLOCK_MONOTONIC
	points   []sample.Point // the window's ends, interpolated, and the samples between
	rulers   []sample.Reading
	before   reading
	after    reading
	census   sample.Census // from after the window
	switches result.Switches
	gc       *result.GC
	evidence Evidence
	packets  bool // the kernel's threads that handle packets work for the trial
}

// end closes the window that lay between two CLOCK_MONOTONIC times. The census comes last: it is
// dear, and the more so the more processes there are.
func (w *watch) end(from, to time.Duration) (o observed, err error) {
	o.from, o.before, o.packets = from, w.before, w.subject.network != nil
	if o.after, err = w.read(); err != nil {
		return o, err
	}
	points, rulers := w.stop()
	o.rulers = rulers
	if w.subject.group != nil {
		if o.points = within(points, from, to); len(o.points) < 2 {
			return o, errors.New("lab: no sample of the subject's CPU fell into the measured window: the machine was too busy to take one")
		}
		o.gc = w.subject.collector(from, to, o.points[len(o.points)-1].CPU-o.points[0].CPU)
		if o.census, err = w.subject.group.Census(); err != nil {
			return o, err
		}
		o.switches = switches(w.census, o.census, float64(to-from)/float64(to-w.counted))
	}
	o.evidence = o.judge(w.ours())
	o.evidence.Here, o.evidence.Unread = w.subject.here, w.subject.unread()
	return o, nil
}

// switches is the window's share of those between two censuses: the load was the same throughout.
func switches(before, after sample.Census, share float64) result.Switches {
	of := func(n int64) int64 { return int64(math.Round(share * float64(max(0, n)))) }
	return result.Switches{Voluntary: of(after.Voluntary - before.Voluntary), Involuntary: of(after.Involuntary - before.Involuntary)}
}

// ours says which processes belong to the trial.
func (w *watch) ours() func(pid int) bool {
	mine := []int{os.Getpid()}
	for _, g := range []*sample.Group{w.subject.group, w.generator.group} {
		if g != nil {
			pids, _ := g.PIDs()
			mine = append(mine, pids...)
		}
	}
	return func(pid int) bool { return slices.Contains(mine, pid) }
}

// judge gathers what the rest of the machine did meanwhile. Processes that began and ended within
// the window are in no list, but in the machine's account: what that holds beyond the trial is a
// neighbour's.
func (o *observed) judge(ours func(int) bool) Evidence {
	a, b := o.before, o.after
	ev := Evidence{Window: b.machine.At - a.machine.At, Steal: b.machine.Steal - a.machine.Steal, Lab: b.lab - a.lab}
	var known, disk time.Duration
	for _, n := range sample.Neighbours(a.machine, b.machine, ours) {
		if errand(n.Name) || o.packets && strings.HasPrefix(n.Name, "ksoftirqd/") {
			disk += n.CPU
			continue
		}
		if known += n.CPU; ev.NeighbourWho == "" {
			ev.NeighbourWho = fmt.Sprintf("%s (process %d)", n.Name, n.PID)
		}
	}
	if ev.NeighbourWho == "" {
		ev.NeighbourWho = "processes that have ended since"
	}
	ev.Neighbour = known
	if a.machine.Exact && b.machine.Exact {
		ev.Neighbour = (b.machine.CPU - a.machine.CPU) - (b.subject - a.subject) - (b.generator - a.generator) - (b.lab - a.lab) - disk
	}
	return ev
}

// errand says whether a thread of the kernel's works for a disk. It does so for who has written,
// which in a run of servers that sync is the subject: it is no neighbour, and what it uses is in
// the machine's CPU, beside the subject's.
func errand(name string) bool {
	return strings.HasPrefix(name, "kworker/") && strings.HasSuffix(name, "-kblockd")
}

// within cuts samples to a window and interpolates its two ends. The points are in the order of
// time.
func within(points []sample.Point, from, to time.Duration) []sample.Point {
	var cut []sample.Point
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if a.At < from && from <= b.At {
			cut = append(cut, interpolate(a, b, from))
		}
		if from < b.At && b.At < to {
			cut = append(cut, b)
		}
		if a.At < to && to <= b.At {
			cut = append(cut, interpolate(a, b, to))
		}
	}
	return cut
}

func interpolate(a, b sample.Point, at time.Duration) sample.Point {
	share := float64(at-a.At) / float64(b.At-a.At)
	return sample.Point{At: at, CPU: a.CPU + time.Duration(share*float64(b.CPU-a.CPU))}
}
