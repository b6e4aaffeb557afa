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
	"weir/lab/workload"
)

// watch observes a subject and the machine over a measured window. From startWatch to stop its
// goroutines sample the subject's CPU, and read the other accounting methods if wanted. Everything
// else is read at the window's two ends.
type watch struct {
	subject   *workload.Running
	generator *generator
	cancel    context.CancelFunc
	points    chan []sample.Point // one result, from the sampling goroutine when it is cancelled
	// one result, from the goroutine that reads the other accounting methods
	accounting   chan []sample.Reading
	censusBefore sample.Census // taken before the window
	censusAt     time.Duration // CLOCK_MONOTONIC time of censusBefore
	before       reading
}

// reading is the machine's and the processes' CPU at one end of the window.
type reading struct {
	machine   sample.Machine
	subject   time.Duration // CPU so far
	generator time.Duration
	aside     time.Duration // of the processes beside the subject
	lab       time.Duration
}

// startWatch starts sampling. The window of the other accounting methods is 0 if they are not
// wanted.
func startWatch(s *workload.Running, g *generator, accountingWindow time.Duration) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{subject: s, generator: g, cancel: cancel, points: make(chan []sample.Point, 1), accounting: make(chan []sample.Reading, 1)}
	go func() {
		defer close(w.points)
		if s.Group != nil {
			w.points <- sample.Record(ctx, s.Group, sampleEvery)
		}
	}()
	go func() {
		defer close(w.accounting)
		if s.Group != nil && accountingWindow > 0 {
			w.accounting <- sample.RecordMethods(ctx, s.Group, accountingWindow)
		}
	}()
	return w
}

// stop ends the sampling and returns the samples. Later calls return nothing.
func (w *watch) stop() ([]sample.Point, []sample.Reading) {
	w.cancel()
	return <-w.points, <-w.accounting
}

// takeCensus counts the subject's processes, threads and context switches. It must run before the
// window, because it costs CPU for each process and delays each for a moment.
func (w *watch) takeCensus() (err error) {
	if w.subject.Group == nil {
		return nil
	}
	began := sample.Monotonic()
	w.censusBefore, err = w.subject.Group.Census()
	w.censusAt = (began + sample.Monotonic()) / 2
	return err
}

func (w *watch) start() (err error) {
	w.before, err = w.read()
	return err
}

// read reads the lab's own CPU last, so that the cost of reading the machine is part of the lab's
// CPU at both ends.
func (w *watch) read() (r reading, err error) {
	var errs [4]error
	r.machine, errs[0] = sample.ReadMachine()
	r.subject, errs[1] = w.subject.CPU()
	r.generator, errs[2] = w.generator.CPU()
	r.aside, errs[3] = w.subject.AsideCPU()
	r.lab = ownCPU()
	return r, errors.Join(errs[:]...)
}

// observation is what a watch recorded between two moments.
type observation struct {
	from, to          time.Duration  // CLOCK_MONOTONIC
	points            []sample.Point // the window's ends, interpolated, and the samples between
	accounting        []sample.Reading
	before            reading
	after             reading
	census            sample.Census // taken after the window
	switches          result.Switches
	runQueueRatio     float64 // the subject's run-queue wait, all threads / duration
	evidence          workload.Evidence
	ownsPacketThreads bool // the kernel's packet threads (ksoftirqd) work for the trial
}

// finish closes the window between two CLOCK_MONOTONIC times. The census comes last, because it is
// expensive with many processes.
func (w *watch) finish(from, to time.Duration) (o observation, err error) {
	o.from, o.to, o.before, o.ownsPacketThreads = from, to, w.before, w.subject.OwnsPacketThreads
	if o.after, err = w.read(); err != nil {
		return o, err
	}
	points, accounting := w.stop()
	o.accounting = accounting
	if w.subject.Group != nil {
		if o.points = cutToWindow(points, from, to); len(o.points) < 2 {
			return o, errors.New("lab: no sample of the subject's CPU fell into the measured window: the machine was too busy to take one")
		}
		w.subject.Measured(from, to, o.points[len(o.points)-1].CPU-o.points[0].CPU)
		if o.census, err = w.subject.Group.Census(); err != nil {
			return o, err
		}
		o.runQueueRatio = float64(max(0, o.census.RunQueueWait-w.censusBefore.RunQueueWait)) / float64(to-w.censusAt)
		o.switches = switches(w.censusBefore, o.census, float64(to-from)/float64(to-w.censusAt))
	}
	o.evidence = o.judge(w.trialProcesses())
	o.evidence.ServerUnaccounted, o.evidence.UnreadBytes = w.subject.Unaccounted, w.subject.Unread()
	return o, nil
}

// switches returns the window's share of the context switches between two censuses. The load was
// constant in between.
func switches(before, after sample.Census, share float64) result.Switches {
	of := func(n int64) int64 { return int64(math.Round(share * float64(max(0, n)))) }
	return result.Switches{Voluntary: of(after.Voluntary - before.Voluntary), Involuntary: of(after.Involuntary - before.Involuntary)}
}

// trialProcesses returns a function that reports whether a process belongs to the trial.
func (w *watch) trialProcesses() func(pid int) bool {
	mine := []int{os.Getpid()}
	groups := append([]*sample.Group{w.subject.Group, w.subject.Aside}, w.generator.groups...)
	for _, g := range groups {
		if g != nil {
			pids, _ := g.PIDs()
			mine = append(mine, pids...)
		}
	}
	return func(pid int) bool { return slices.Contains(mine, pid) }
}

// judge collects what the rest of the machine did during the window. Processes that started and
// ended within the window are in no list, but in the machine's total: the part that is not the
// trial's is attributed to neighbours.
func (o *observation) judge(ours func(int) bool) workload.Evidence {
	a, b := o.before, o.after
	ev := workload.Evidence{Window: b.machine.At - a.machine.At, Steal: b.machine.Steal - a.machine.Steal, Lab: b.lab - a.lab}
	var known, disk time.Duration
	for _, n := range sample.Neighbours(a.machine, b.machine, ours) {
		if isDiskThread(n.Name) || o.ownsPacketThreads && strings.HasPrefix(n.Name, "ksoftirqd/") {
			disk += n.CPU
			continue
		}
		if known += n.CPU; ev.NeighbourName == "" {
			ev.NeighbourName = fmt.Sprintf("%s (process %d)", n.Name, n.PID)
		}
	}
	if ev.NeighbourName == "" {
		ev.NeighbourName = "processes that have ended since"
	}
	ev.Neighbour = known
	if a.machine.Exact && b.machine.Exact {
		ev.Neighbour = (b.machine.CPU - a.machine.CPU) - (b.subject - a.subject) - (b.generator - a.generator) - (b.aside - a.aside) - (b.lab - a.lab) - disk
	}
	return ev
}

// isDiskThread reports whether a kernel thread works for a disk. It works for the process that
// wrote, which in a run of servers that sync is the subject, so it is not a neighbour. Its CPU is
// part of the machine's CPU.
func isDiskThread(name string) bool {
	return strings.HasPrefix(name, "kworker/") && strings.HasSuffix(name, "-kblockd")
}

// cutToWindow cuts samples to a window and interpolates its two ends. The points are ordered by
// time.
func cutToWindow(points []sample.Point, from, to time.Duration) []sample.Point {
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
