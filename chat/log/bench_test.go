package log

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/disk"
)

// eighty is a message with 80 bytes of text.
var eighty = Entry{noon, "account=ann", ":ann!u@host.example PRIVMSG #room :" + strings.Repeat("x", 80)}

// BenchmarkAppend stores batches, by the disk's sync and without it.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name string
		disk disk.FS
	}{{"synced", nil}, {"unsynced", noSync}} {
		for _, n := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				l := mustOpen(b, b.TempDir(), Options{Disk: c.disk})
				batch := make([]Entry, n)
				for i := range batch {
					batch[i] = eighty
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := l.Append(batch); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
			})
		}
	}
}

// BenchmarkAppendTogether has as many Logs as there would be processes append single messages to
// one room.
func BenchmarkAppendTogether(b *testing.B) {
	for _, n := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			var syncs atomic.Int64
			counting := syncDisk{disk.System, func(f disk.File) error { syncs.Add(1); return f.Datasync() }}
			var left atomic.Int64
			var wg sync.WaitGroup
			logs := make([]*Log, n)
			for i := range logs {
				logs[i] = mustOpen(b, dir, Options{Disk: counting})
			}
			left.Store(int64(b.N))
			before := syncs.Load()
			b.ResetTimer()
			for _, l := range logs {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := l.Append([]Entry{eighty}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(syncs.Load()-before)/float64(b.N), "syncs/message")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	x := encoder{id: "abcdefgh"}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, _, err = x.append(buf[:0], &eighty, 123456789, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkCheck(b *testing.B) {
	line := []byte(encode(b, eighty, 123456789))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := parseLine(line); !ok {
			b.Fatal("check of an encoded line: got invalid, want valid")
		}
	}
}

// filled is a room with n messages of 80 bytes, a second apart.
func filled(b *testing.B, n int) *Log {
	l := mustOpen(b, b.TempDir(), Options{Disk: noSync})
	batch := make([]Entry, 100)
	for i := range n / len(batch) {
		for j := range batch {
			batch[j] = eighty
			batch[j].Time = noon.Add(time.Duration(i*len(batch)+j) * time.Second)
		}
		if _, err := l.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// BenchmarkStream replays 10,000 messages.
func BenchmarkStream(b *testing.B) {
	const n = 10_000
	l := filled(b, n)
	b.SetBytes(l.Committed())
	b.ReportAllocs()
	for b.Loop() {
		r := l.Stream(0)
		found := 0
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			found++
		}
		r.Close()
		if found != n {
			b.Fatalf("Stream: got %d lines, want %d", found, n)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

func BenchmarkLatest(b *testing.B) {
	l := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if lines, err := l.Latest(50, l.Committed()); err != nil || len(lines) != 50 {
			b.Fatalf("Latest(50): got %d lines and error %v, want 50 lines", len(lines), err)
		}
	}
}

func BenchmarkSeek(b *testing.B) {
	l := filled(b, 100_000)
	at := 0
	b.ReportAllocs()
	for b.Loop() {
		at = (at + 7919) % 100_000
		if _, err := l.Seek(noon.Add(time.Duration(at) * time.Second)); err != nil {
			b.Fatal(err)
		}
	}
}
