package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"weir/lab/result"
	"weir/lab/sample"
)

// watch observes a subject and the machine over a measured window. Its goroutines sample the subject's CPU,
// and look through the other rulers if asked, from newWatch to stop; everything else is read at the
// window's two ends.
type watch struct {
	subject   *running
	generator *generator
	cancel    context.CancelFunc
	points    chan []sample.Point   // one answer, from the sampling goroutine when it is cancelled
	rulers    chan []sample.Reading // the same, from the one that looks through the other rulers
	before    reading
}

// reading is what is read at one end of the window.
type reading struct {
	census    sample.Census
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

func (w *watch) begin() (err error) {
	w.before, err = w.read()
	return err
}

func (w *watch) read() (r reading, err error) {
	var errs [4]error
	if w.subject.group != nil {
		r.census, errs[0] = w.subject.group.Census()
	}
	r.machine, errs[1] = sample.ReadMachine()
	r.subject, errs[2] = w.subject.cpu()
	r.generator, errs[3] = w.generator.group.CPU()
	r.lab = ownCPU()
	return r, errors.Join(errs[:]...)
}

// observed is what a watch saw between two moments.
type observed struct {
	points   []sample.Point // the window's ends, interpolated, and the samples between
	rulers   []sample.Reading
	before   reading
	after    reading
	gc       *result.GC
	evidence Evidence
}

// end closes the window that lay between two CLOCK_MONOTONIC times.
func (w *watch) end(from, to time.Duration) (o observed, err error) {
	o.before = w.before
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
	}
	o.evidence = o.judge(w.ours())
	return o, nil
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

// judge gathers what the rest of the machine did meanwhile. Processes that began and ended within the
// window are in no list, but in the machine's account: what that holds beyond the trial is a neighbour's.
func (o *observed) judge(ours func(int) bool) Evidence {
	a, b := o.before, o.after
	ev := Evidence{Window: b.machine.At - a.machine.At, Steal: b.machine.Steal - a.machine.Steal}
	var known time.Duration
	ev.NeighbourWho = "processes that have ended since"
	for i, n := range sample.Neighbours(a.machine, b.machine, ours) {
		if known += n.CPU; i == 0 {
			ev.NeighbourWho = fmt.Sprintf("%s (process %d)", n.Name, n.PID)
		}
	}
	ev.Neighbour = known
	if a.machine.Exact && b.machine.Exact {
		ev.Neighbour = (b.machine.CPU - a.machine.CPU) - (b.subject - a.subject) - (b.generator - a.generator) - (b.lab - a.lab)
	}
	return ev
}

// within cuts samples to a window and interpolates its two ends. The points are in the order of time.
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
