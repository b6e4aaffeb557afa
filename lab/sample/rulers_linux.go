package sample

import (
	"context"
	"math"
	"slices"
	"time"
)

// topRows is how many processes FreeBSD's top prints if its output is not a terminal.
const topRows = 18

// RecordMethods measures a group by the usual tools' methods, in windows of the given length (500
// ms for top in the published comparison), until ctx ends. Each of these methods is inaccurate in
// its own way, which the comparison shows.
func RecordMethods(ctx context.Context, g *Group, window time.Duration) []Reading {
	readings := []Reading{
		{Name: "sum of /proc/PID/stat", About: "user and system ticks of the living processes: misses parts of a tick, and processes that exited"},
		{Name: "top, all rows", About: "each living process's CPU in a window, rounded to 0.01 %: misses processes that exited"},
		{Name: "top, first 18 rows", About: "the same, limited as in FreeBSD's top without a terminal to the 18 processes that used most"},
	}
	ticker := time.NewTicker(window)
	defer ticker.Stop()
	last := takeSnapshot(g)
	for {
		select {
		case <-ctx.Done():
			return readings
		case <-ticker.C:
		}
		now := takeSnapshot(g)
		rows := now.rows(last)
		for i, p := range []float64{now.tickPercent(last), sumRows(rows, len(rows)), sumRows(rows, topRows)} {
			readings[i].Percents = append(readings[i].Percents, p)
		}
		last = now
	}
}

// snapshot is the state of a group's living processes at one moment.
type snapshot struct {
	at     time.Duration
	ticks  map[int]int64
	clocks map[int]time.Duration
}

func takeSnapshot(g *Group) snapshot {
	l := snapshot{Monotonic(), map[int]int64{}, map[int]time.Duration{}}
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

// rows returns top's CPU column, in % of a core.
func (l snapshot) rows(last snapshot) (rows []float64) {
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

func (l snapshot) tickPercent(last snapshot) float64 {
	var ticks int64
	for pid, n := range l.ticks {
		ticks += n - last.ticks[pid]
	}
	return 100 * float64(ticks) * float64(tick) / float64(l.at-last.at)
}
