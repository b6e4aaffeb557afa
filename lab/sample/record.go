package sample

import (
	"context"
	"time"
)

// Record reads the group's CPU at every interval until ctx ends, on an absolute schedule: a late
// reading does not delay later ones. The first reading is immediate and the last is at the end of
// ctx. Failed readings, and those whose time passed before they could be taken, are omitted.
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
