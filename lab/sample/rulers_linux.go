package sample

import (
	"context"
	"math"
	"slices"
	"time"
)

// topRows is how many processes FreeBSD's top writes when its output is no terminal.
const topRows = 18

// RecordRulers looks at a group as others would, in windows of the given length (top was run with
// 500 ms), until ctx is done. The rulers are wrong each in its own way: that is what they are here
// for.
func RecordRulers(ctx context.Context, g *Group, window time.Duration) []Reading {
	readings := []Reading{
		{Name: "sum of /proc/PID/stat", About: "user and system ticks of the living processes: what each has not filled up to a tick is missing, and so is all that exited"},
		{Name: "top, all rows", About: "each living process's CPU in a window, rounded to 0.01 %: what exited is missing"},
		{Name: "top, first 18 rows", About: "the same as FreeBSD's top writes it to a file: the 18 greediest processes only"},
	}
	ticker := time.NewTicker(window)
	defer ticker.Stop()
	last := lookAt(g)
	for {
		select {
		case <-ctx.Done():
			return readings
		case <-ticker.C:
		}
		now := lookAt(g)
		rows := now.rows(last)
		for i, p := range []float64{now.tickPercent(last), sumRows(rows, len(rows)), sumRows(rows, topRows)} {
			readings[i].Percents = append(readings[i].Percents, p)
		}
		last = now
	}
}

// look is what can be seen of a group's living processes.
type look struct {
	at     time.Duration
	ticks  map[int]int64
	clocks map[int]time.Duration
}

func lookAt(g *Group) look {
	l := look{Monotonic(), map[int]int64{}, map[int]time.Duration{}}
	pids, _ := g.PIDs()
	for _, pid := range pids {
		if s, ok := readStat(pid); ok {
			l.ticks[pid] = s.user + s.system
		}
		if d, ok := processClock(pid); ok {
			l.clocks[pid] = d
		}
	}
	return l
}

// rows is top's CPU column, in % of a core.
func (l look) rows(last look) (rows []float64) {
	for pid, clock := range l.clocks {
		share := float64(clock-last.clocks[pid]) / float64(l.at-last.at)
		rows = append(rows, math.Round(share*100*100)/100)
	}
	return rows
}

func sumRows(rows []float64, first int) (sum float64) {
	slices.Sort(rows)
	slices.Reverse(rows)
	for _, r := range rows[:min(first, len(rows))] {
		sum += r
	}
	return sum
}

func (l look) tickPercent(last look) float64 {
	var ticks int64
	for pid, n := range l.ticks {
		ticks += n - last.ticks[pid]
	}
	return 100 * float64(ticks) * float64(tick) / float64(l.at-last.at)
}
