package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"testing"
	"time"

	"weir/web/internal/conn"
)

// BenchmarkResponse measures exchanges of a page over one persistent connection: by net/http alone,
// and by this server with head and body in one write. cpu-us/op is the CPU time of the whole
// process, the client included.
func BenchmarkResponse(b *testing.B) {
	for _, size := range []int{200, 4096, 64 << 10} {
		page := bytes.Repeat([]byte("a"), size)
		b.Run("net-http/"+strconv.Itoa(size), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = []string{"text/plain"}
				w.Header()["Content-Length"] = []string{strconv.Itoa(size)}
				w.Write(page)
			})}
			go s.Serve(l)
			defer s.Close()
			exchange(b, l.Addr().String(), size)
		})
		b.Run("one-write/"+strconv.Itoa(size), func(b *testing.B) {
			s, err := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = []string{"text/plain"}
				conn.From(r.Context()).Respond(w, 200, page)
			}), Config{Addr: "127.0.0.1:0"})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1) // from Run to here, one
			go func() { ended <- s.Run(ctx) }()
			exchange(b, s.Addr().String(), size)
			cancel()
			<-ended
		})
	}
}

// exchange repeats a request and reports its cost.
func exchange(b *testing.B, addr string, size int) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	buffer := make([]byte, size+1024)
	head := 0
	before := cpu()
	for b.Loop() {
		io.WriteString(c, "GET /page.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
		for got := 0; head == 0 || got < head+size; {
			n, err := c.Read(buffer[got:])
			if err != nil {
				b.Fatal(err)
			}
			got += n
			if end := bytes.Index(buffer[:got], []byte("\r\n\r\n")); head == 0 && end > 0 {
				head = end + 4
			}
		}
	}
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-us/op")
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
