// Command go-plain is a goroutine per connection in plain hand-written code, on net.Listener and
// net.Conn alone. It does the work of every other subject, so that the cost of package serve shows
// beside it.
//
// Limitations: it cannot know which input has arrived, so at a stop it reads until a connection has
// been quiet for a while, for a second at most.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	readSize    = 4096
	quiet       = 50 * time.Millisecond // a connection without input for this long is drained
	drain       = time.Second           // how long a stop may take
	acceptPause = 100 * time.Millisecond
)

func main() {
	c, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-plain:", err)
		os.Exit(2)
	}
	var listen net.ListenConfig
	listen.SetMultipathTCP(false) // all subjects listen with TCP
	l, err := listen.Listen(context.Background(), "tcp", c.listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-plain:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	s := &server{config: c, ctx: ctx, open: map[net.Conn]bool{}}
	go s.accept(l)
	<-ctx.Done()
	l.Close()
	s.drain()
}

// server accepts in one goroutine and has one for each connection; they end with the program.
type server struct {
	config
	ctx context.Context // ends when the server stops

	mu   sync.Mutex
	open map[net.Conn]bool
}

func (s *server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			s.track(c, true)
			go s.serve(c)
		case errors.Is(err, net.ErrClosed):
			return
		default: // no free descriptor: wait until one may be free
			time.Sleep(acceptPause)
		}
	}
}

func (s *server) serve(c net.Conn) {
	defer s.track(c, false)
	defer c.Close()
	buf, total := make([]byte, readSize), 0
	for {
		if s.ctx.Err() != nil {
			c.SetReadDeadline(time.Now().Add(quiet))
		}
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		k := (total+n)/s.size - total/s.size
		total += n
		s.handle(k)
		if s.echo {
			_, err = c.Write(buf[:n])
		} else {
			_, err = os.Stdout.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// handle computes and waits for k messages.
func (s *server) handle(k int) {
	if k > 0 && s.work > 0 {
		for end := time.Now().Add(time.Duration(k) * s.work); time.Now().Before(end); {
		}
	}
	if k > 0 && s.wait > 0 {
		select {
		case <-time.After(time.Duration(k) * s.wait):
		case <-s.ctx.Done():
		}
	}
}

func (s *server) track(c net.Conn, in bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in {
		s.open[c] = true
	} else {
		delete(s.open, c)
	}
}

// drain waits for the connections to end. A connection that waits for a read ends after quiet.
func (s *server) drain() {
	s.mu.Lock()
	for c := range s.open {
		c.SetReadDeadline(time.Now().Add(quiet))
	}
	s.mu.Unlock()
	for end := time.Now().Add(drain); time.Now().Before(end); time.Sleep(acceptPause / 20) {
		s.mu.Lock()
		left := len(s.open)
		s.mu.Unlock()
		if left == 0 {
			return
		}
	}
}
