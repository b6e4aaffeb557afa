package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/lab/sample"
)

const (
	// watchEvery is the shortest interval of CPU readings
	watchEvery = 50 * time.Millisecond
	// watchedReadings is about how many readings there are in a window
	watchedReadings = 2000
	// watchMargin is how much longer than its window a recording lasts at most
	watchMargin = time.Minute
)

// watch is a recording of a server's CPU. The agent's goroutine owns it. A second goroutine, which
// ends by stop, takes the readings.
type watch struct {
	session int64
	cancel  context.CancelFunc
	points  chan []sample.Point // one result, when the recording ends
}

// startWatch starts a recording for a window of the given length, which starts soon.
func startWatch(g *sample.Group, r request) *watch {
	window := time.Duration(r.MeasureNS)
	ctx, cancel := context.WithTimeout(context.Background(), window+watchMargin)
	w := &watch{session: r.Session, cancel: cancel, points: make(chan []sample.Point, 1)}
	interval := max(watchEvery, window/watchedReadings, (window+watchMargin)/(maxPoints/2))
	go func() { w.points <- sample.Record(ctx, g, interval) }()
	return w
}

// stop ends the recording and returns its readings.
func (w *watch) stop() []sample.Point {
	w.cancel()
	return <-w.points
}

// besideServer executes a request to an agent beside a server.
func (a *agentServer) besideServer(r request) (*Usage, error) {
	switch {
	case r.Do == doWatch && a.watch != nil:
		return nil, errors.New("another recording is running")
	case r.Do == doWatch:
		if pids, err := a.config.Group.PIDs(); err != nil || len(pids) == 0 {
			return nil, errors.Join(errors.New("the server that this agent is beside has ended: start both again"), err)
		}
		a.watch = startWatch(a.config.Group, r)
		return nil, nil
	case r.Do == doUsage && a.watch != nil && a.watch.session == r.Session:
		w := a.watch
		a.watch = nil
		return a.usage(w.stop())
	}
	return nil, fmt.Errorf("this agent is beside a server, and cannot %s", r.Do)
}

// usage returns what the server used, with times of the agent's clock.
func (a *agentServer) usage(points []sample.Point) (*Usage, error) {
	g := a.config.Group
	census, err := g.Census()
	if err != nil {
		return nil, err
	}
	u := &Usage{Method: g.Method().Name, PeakRSS: census.PeakRSS, PSS: census.PSS, Processes: census.Processes, Threads: census.Threads}
	for _, p := range points {
		last := len(u.Points) - 1
		at := int64(p.At) + int64(a.config.ClockShift())
		if last >= 0 && (at <= u.Points[last].AtNS || int64(p.CPU) < u.Points[last].CPUNS) {
			continue // the CPU of processes that ended unseen is missing
		}
		u.Points = append(u.Points, Point{AtNS: at, CPUNS: int64(p.CPU)})
	}
	return u, nil
}
