package search

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/chat/data"
	"weir/chat/log"
)

// words returns the text of message i of a benchmark. It draws from a few hundred words, some of
// them common and some rare.
func words(i int) string {
	var b strings.Builder
	for n := range 8 + i%5 {
		x := uint32(i*31+n*n*7+1) * 2654435761
		fmt.Fprintf(&b, "%s%d ", []string{"boat", "harbour", "sail", "wind", "sea", "blue", "anchor"}[x%7], x>>8%(1+x>>28*40))
	}
	return b.String()
}

// fill appends n messages to the log of a room, 30 in each millisecond.
func fill(b testing.TB, dir string, n int) {
	l, err := log.Open(dir+"/rooms/#busy", log.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var batch []log.Entry
	for i := range n {
		batch = append(batch, log.Entry{Time: noon.Add(time.Duration(i/30) * time.Millisecond), Tags: "account=ann", Body: ":ann!u@h PRIVMSG #busy :" + words(i)})
		if len(batch) == 1000 || i == n-1 {
			if _, err := l.Append(batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	const n = 30_000
	dir := b.TempDir()
	fill(b, dir, n)
	for b.Loop() {
		x, err := Open(b.Context(), dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := x.Update(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := x.removeFiles(); err != nil {
			b.Fatal(err)
		}
		x.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "us/message")
}

// BenchmarkTail searches messages of which none is indexed: the cost of a search while the index
// lags.
func BenchmarkTail(b *testing.B) {
	const n = 100_000
	dir := b.TempDir()
	fill(b, dir, n)
	x, err := Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for _, words := range []string{"nowhere", "boat*", "harbour7"} {
		b.Run(words, func(b *testing.B) {
			q, err := Parse(words)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := x.Find(b.Context(), q, Options{Limit: 100, Lagging: []data.Room{{Name: "#busy", Path: "rooms/#busy"}}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "us/message")
		})
	}
}
