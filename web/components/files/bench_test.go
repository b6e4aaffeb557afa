package files_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/components/files"
	"weir/web/server"
)

// BenchmarkServe4K measures an exchange over persistent loopback connections, with both ends in
// this process. To compare servers, subtract the minimum ("a fixed answer", which is no HTTP
// server).
func BenchmarkServe4K(b *testing.B) {
	dir := b.TempDir()
	page := bytes.Repeat([]byte("A page of 4 KB. "), 256)
	if err := os.WriteFile(filepath.Join(dir, "4k.html"), page, 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("a fixed answer", func(b *testing.B) { drive(b, fixed(b, page), len(page)) })
	b.Run("FileServer", func(b *testing.B) { drive(b, plain(b, http.FileServer(http.Dir(dir))), len(page)) })
	b.Run("cached bytes", func(b *testing.B) {
		drive(b, plain(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(page)))
			_, _ = w.Write(page)
		})), len(page))
	})
	for _, c := range []struct {
		name  string
		way   flow.Way
		pipes int
	}{{"weir chain", flow.Chain, 0}, {"weir chain and 8 pipes", flow.Chain, 8}, {"weir network", flow.Network, 0}} {
		b.Run(c.name, func(b *testing.B) { drive(b, weir(b, dir, c.way, c.pipes), len(page)) })
	}
}

// weir runs files, and components that do nothing, on web/server.
func weir(b *testing.B, dir string, way flow.Way, pipes int) string {
	source, err := files.New(files.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	parts := []web.Component{source}
	for range pipes {
		parts = append(parts, web.Pipe(func(*web.Conn) {}))
	}
	h, err := web.New(web.Chain(parts...), web.Options{Way: way})
	if err != nil {
		b.Fatal(err)
	}
	s, err := server.New(h, server.Config{Addr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1) // from the server to the cleanup, one
	go func() { ended <- s.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		h.Close()
		source.(io.Closer).Close()
	})
	return s.Addr().String()
}

// plain runs a handler on net/http.
func plain(b *testing.B, h http.Handler) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: h}
	ended := make(chan error, 1) // from the server to the cleanup, one
	go func() { ended <- s.Serve(l) }()
	b.Cleanup(func() {
		s.Close()
		<-ended
	})
	return l.Addr().String()
}

// fixed sends the same response to any input.
func fixed(b *testing.B, page []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	answer := append([]byte("HTTP/1.1 200 OK\r\nContent-Length: "+strconv.Itoa(len(page))+"\r\n\r\n"), page...)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				p := make([]byte, 4096)
				for {
					if _, err := c.Read(p); err != nil {
						return
					}
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			})
		}
	})
	b.Cleanup(func() { l.Close(); all.Wait() })
	return l.Addr().String()
}

// drive sends b.N requests over 16 connections, each after the previous response, and reports the
// process's CPU time.
func drive(b *testing.B, addr string, size int) {
	const connections = 16
	request := []byte("GET /4k.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
	var clients []net.Conn
	for range connections {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	before := cpu(b)
	b.ResetTimer()
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			p := make([]byte, 8192)
			for range (b.N + i) / connections {
				if _, err := c.Write(request); err != nil {
					b.Error(err)
					return
				}
				if err := answer(c, p, size); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// answer reads one response with a body of this size.
func answer(c net.Conn, p []byte, size int) error {
	got, end := 0, -1
	for end < 0 || got < end+4+size {
		n, err := c.Read(p[got:])
		if err != nil {
			return err
		}
		got += n
		end = bytes.Index(p[:got], []byte("\r\n\r\n"))
	}
	return nil
}

// cpu returns the CPU time of the process, in nanoseconds.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
