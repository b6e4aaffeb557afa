// Command http-gnet serves the files of a folder on gnet, a framework of event loops for TCP. gnet
// has no HTTP and no files: as in the project's own example of an HTTP server, the program parses
// the bytes that gnet has read and writes the bytes of the response.
//
// Limitations: no TLS, no ranges, no compression. A request with a body is the last of its
// connection. After SIGTERM, connections may be served until all are idle, for 1.5 s at most.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/panjf2000/gnet/v2"
)

const (
	// most threads that compute at once, as in every server of the workload files
	workers = 2
	// how long responses may take after SIGTERM
	finishing = 1500 * time.Millisecond
	// between two looks at connections that are to be closed, and at the clock
	tick = 100 * time.Millisecond
)

func main() {
	c, err := parse(os.Args[1:])
	if err != nil {
		die(2, err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	loops := min(workers, runtime.GOMAXPROCS(0))
	s := &server{files: files{dir: c.www}, booted: make(chan gnet.Engine, 1)}
	s.setDate()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.stopAfter(ctx)
	}()
	err = gnet.Run(s, "tcp://"+c.listen, gnet.WithNumEventLoop(loops), gnet.WithReuseAddr(true), gnet.WithTicker(true), gnet.WithLogger(quiet{}))
	cancel()
	if err != nil {
		die(1, err)
	}
	<-stopped
}

func die(status int, err error) {
	fmt.Fprintln(os.Stderr, "http-gnet:", err)
	os.Exit(status)
}

// server handles the events of gnet.
type server struct {
	gnet.BuiltinEventEngine
	files    files
	booted   chan gnet.Engine       // one engine, when it listens
	date     atomic.Pointer[string] // the field Date
	stopping atomic.Bool
	conns    sync.Map // gnet.Conn of open connections to nothing
	open     atomic.Int64
}

func (s *server) OnBoot(e gnet.Engine) gnet.Action {
	s.booted <- e
	return gnet.None
}

func (s *server) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	s.open.Add(1)
	s.conns.Store(c, nil)
	return nil, gnet.None
}

func (s *server) OnClose(c gnet.Conn, _ error) gnet.Action {
	s.conns.Delete(c)
	s.open.Add(-1)
	return gnet.None
}

// OnTick sets the clock of responses.
func (s *server) OnTick() (time.Duration, gnet.Action) {
	s.setDate()
	return tick, gnet.None
}

func (s *server) setDate() {
	text := "Date: " + time.Now().UTC().Format(timeFormat) + "\r\n"
	s.date.Store(&text)
}

// stopAfter waits for the end of ctx and stops the engine: it closes each connection once its
// responses are sent.
func (s *server) stopAfter(ctx context.Context) {
	<-ctx.Done()
	var e gnet.Engine
	select {
	case e = <-s.booted:
	default:
		return // it could not listen
	}
	s.stopping.Store(true)
	for deadline := time.Now().Add(finishing); s.open.Load() > 0 && time.Now().Before(deadline); time.Sleep(tick / 10) {
		s.conns.Range(func(c, _ any) bool {
			c.(gnet.Conn).Wake(nil) //nolint:errcheck // it is closed
			return true
		})
	}
	e.Stop(context.Background()) //nolint:errcheck // the process ends
}

// OnTraffic answers the requests that are complete.
func (s *server) OnTraffic(c gnet.Conn) gnet.Action {
	if c.Context() != nil || s.stopping.Load() && c.InboundBuffered() == 0 {
		return closeSent(c)
	}
	in, err := c.Peek(-1)
	if err != nil {
		return gnet.Close
	}
	used := 0
	for used < len(in) {
		r, n, err := parseRequest(in[used:])
		if err != nil {
			c.Write([]byte(badRequest)) //nolint:errcheck // gnet closes the connection
			return gnet.Close
		}
		if n == 0 {
			break
		}
		used += n
		s.answer(c, r)
		if r.last {
			c.SetContext("closing") // ignore what follows
			return closeSent(c)
		}
	}
	if used > 0 { // 0 would discard all
		c.Discard(used) //nolint:errcheck // it was peeked
	}
	if s.stopping.Load() {
		return closeSent(c)
	}
	return gnet.None
}

// closeSent closes a connection whose responses are sent. Another one is looked at again.
func closeSent(c gnet.Conn) gnet.Action {
	if c.OutboundBuffered() == 0 {
		return gnet.Close
	}
	time.AfterFunc(tick/10, func() { c.Wake(nil) }) //nolint:errcheck // it is closed
	return gnet.None
}

// quiet discards the log: errors of clients are expected.
type quiet struct{}

func (quiet) Debugf(string, ...any) {}
func (quiet) Infof(string, ...any)  {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}
