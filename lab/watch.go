package lab

import (
	"context"
	"errors"
	"time"

	"weir/lab/sample"
)

// watch observes a subject and the machine over a measured window. One goroutine samples the subject's
// CPU from start to stop; everything else is read at the window's two ends.
type watch struct {
	subject *running
	cancel  context.CancelFunc
	points  chan []sample.Point // one answer, from the sampling goroutine when it is cancelled
	before  reading
}

// reading is what is read at one end of the window.
type reading struct {
	census sample.Census
}

func (r *Runner) watch(s *running) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{subject: s, cancel: cancel, points: make(chan []sample.Point, 1)}
	go func() {
		if s.group == nil {
			close(w.points)
			return
		}
		w.points <- sample.Record(ctx, s.group, sampleEvery)
	}()
	return w
}

// stop ends the sampling. What was sampled is returned to the first caller.
func (w *watch) stop() []sample.Point {
	w.cancel()
	defer func() { w.points = nil }()
	if w.points == nil {
		return nil
	}
	return <-w.points
}

func (w *watch) begin() (err error) {
	w.before, err = w.read()
	return err
}

func (w *watch) read() (r reading, err error) {
	if w.subject.group != nil {
		r.census, err = w.subject.group.Census()
	}
	return r, err
}

// observed is what a watch saw between two moments.
type observed struct {
	points   []sample.Point // the window's ends, interpolated, and the samples between
	before   reading
	after    reading
	evidence Evidence
}

// end closes the window that lay between two CLOCK_MONOTONIC times.
func (w *watch) end(from, to time.Duration) (o observed, err error) {
	o.before = w.before
	if o.after, err = w.read(); err != nil {
		return o, err
	}
	points := w.stop()
	if w.subject.group != nil {
		if o.points = within(points, from, to); len(o.points) < 2 {
			return o, errors.New("lab: no sample of the subject's CPU fell into the measured window: the machine was too busy to take one")
		}
	}
	return o, nil
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
