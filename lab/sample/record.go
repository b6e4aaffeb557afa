package sample

import (
	"context"
	"time"
)

// Record reads the group's CPU every interval until ctx is done, on an absolute schedule: a late
// reading makes no later one late. It returns what it read, the first reading at once and the last
// when ctx ended. Readings that fail, and those whose time passed before they could be taken, are
// left out.
func Record(ctx context.Context, g *Group, interval time.Duration) []Point {
	var points []Point
	read := func() {
		at := Monotonic()
		if cpu, err := g.CPU(); err == nil {
			points = append(points, Point{at, cpu})
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := Monotonic()
	for {
		select {
		case <-ctx.Done():
			read()
			return points
		case <-timer.C:
			read()
			passed := Monotonic() - start
			timer.Reset(interval - passed%interval)
		}
	}
}
