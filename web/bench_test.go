package web_test

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"weir/flow"
	"weir/web"
)

// nowhere is a ResponseWriter that discards everything.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

// cpu returns the CPU time of the process in nanoseconds. Other processes disturb it less than
// wall-clock time.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkPassThrough measures the cost that pipes without effect add to an exchange: compare the
// results by their number.
func BenchmarkPassThrough(b *testing.B) {
	body := web.Bytes(make([]byte, 4096))
	kind := web.NewField("Content-Type", "text/html; charset=utf-8")
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		for _, n := range []int{0, 1, 8} {
			parts := []web.Component{web.Source(func(c *web.Conn) web.Body { c.SetField(kind); return body })}
			for range n {
				parts = append(parts, web.Pipe(func(*web.Conn) {}))
			}
			b.Run(fmt.Sprintf("%s/pipes=%d", way, n), func(b *testing.B) {
				h, err := web.New(web.Chain(parts...), web.Options{Way: way})
				if err != nil {
					b.Fatal(err)
				}
				defer h.Close()
				r, err := http.NewRequest("GET", "/", nil)
				if err != nil {
					b.Fatal(err)
				}
				w := &nowhere{header: http.Header{}}
				b.ReportAllocs()
				before := cpu(b)
				for b.Loop() {
					h.ServeHTTP(w, r)
				}
				b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
