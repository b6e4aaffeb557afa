package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/listening"
	"weir/internal/lograte"
	"weir/web/internal/client"
	"weir/web/internal/conn"
)

// Server serves one address.
type Server struct {
	config Config
	fronts client.Fronts
	// before ErrorLog, so that strangers cannot fill it, nor stop the server where it takes nothing
	faults  *lograte.Limiter
	gate    *gate
	watch   *conn.Watch
	handler atomic.Pointer[http.Handler]
	h1, h2  *http.Server // h2 is nil without TLS
	certs   *certificates
	h3      *quicServer // nil without
	ran     atomic.Bool
	base    context.Context // what every request's context comes from
	ending  chan struct{}   // no values, closed by Run when the stop begins
	hurry   context.Context // of a stop: ended by Cut
	cut     context.CancelFunc
}

// New listens. Until Run, connections wait in the kernel; a server that is not to run is closed by
// Close.
func New(h http.Handler, c Config) (*Server, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Server{config: c, watch: conn.NewWatch(c.rules()), ending: make(chan struct{})}
	s.fronts, _ = client.ReadFronts(c.Trusted) // validate has read them
	s.faults = lograte.New(time.Minute, c.logf)
	s.base = conn.WithStopping(context.Background(), s.ending)
	s.hurry, s.cut = context.WithCancel(context.Background())
	s.SetHandler(h)
	l, err := listen(c)
	if err != nil {
		return nil, err
	}
	s.gate = newGate(l, s.watch, s.watch.Places(c.maxConns(), c.maxConnsPerClient(), s.fronts), s.crowded)
	s.h1 = s.engine()
	if c.TLS == nil {
		s.gate.plain = true
		return s, nil
	}
	if err := s.secure(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func listen(c Config) (net.Listener, error) {
	if c.Listener != nil {
		return c.Listener, nil
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, listening.Explain(c.Addr, err)
	}
	return l, nil
}

// engine is net/http with what it shares over versions. Its own timeouts are off for HTTP/1: the
// watch's hold.
func (s *Server) engine() *http.Server {
	return &http.Server{
		Handler: s, ErrorLog: log.New(lines(s.said), "", 0), MaxHeaderBytes: s.config.headBytes(),
		BaseContext: func(net.Listener) context.Context { return s.base }, ConnContext: conn.NewContext,
	}
}

// secure makes what TLS adds: certificates, HTTP/2, HTTP/3.
func (s *Server) secure() (err error) {
	if s.certs, err = newCertificates(s.config.TLS, s.faults, s.gate.Addr()); err != nil {
		return err
	}
	s.h2 = s.engine()
	s.h2.IdleTimeout = s.config.rules().Idle
	s.h2.ReadHeaderTimeout = s.config.rules().Header
	s.h2.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 250, SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	if s.config.HTTP3 {
		s.h3, err = newQUIC(s)
	}
	return err
}

// Addr is the address that is listened on.
func (s *Server) Addr() net.Addr { return s.gate.Addr() }

// SetHandler makes h, which is not nil, answer the requests that come from now on. It may be called
// at any time from any goroutine.
func (s *Server) SetHandler(h http.Handler) { s.handler.Store(&h) }

// ServeHTTP is for the engines.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.h3 != nil && r.ProtoMajor < 3 {
		s.h3.advertise(w.Header())
	}
	if r.ProtoMajor == 1 && (r.Header["Upgrade"] != nil || r.Method == http.MethodConnect) {
		turning, cancel := conn.Turning(r)
		defer cancel()
		r = turning
	}
	if place := conn.PlaceOf(r.Context()); place != nil {
		place.Begin()
		defer place.End()
	}
	if s.fronts != nil {
		r = s.behindFront(r)
	}
	if rules := s.config.rules(); r.ProtoMajor > 1 && rules.Grace > 0 {
		guarded := newStream(w, r, rules)
		defer guarded.end()
		w = guarded
	}
	(*s.handler.Load()).ServeHTTP(w, r)
}

// Connections is how many are open, idle ones included.
func (s *Server) Connections() int { return s.gate.places.Open() }

// crowded tells that a client has as many connections as it may have.
func (s *Server) crowded(from net.Addr) {
	who := client.Network(from.String())
	s.faults.Say(who.String(), fmt.Sprintf("server: %v has %d connections open, which is the limit for one client: another was closed; "+
		"raise the limit (max_connections_per_client in a site), or name the address in trusted if it is a load balancer's", who, s.config.maxConnsPerClient()))
}

// said takes a line of net/http.
func (s *Server) said(line string) { s.faults.Say(line[:min(len(line), 40)], line) }

// Dropped is how many connections were ended because the client was too slow, or idle for too long.
func (s *Server) Dropped() int64 { return s.watch.Dropped() }

// Close ends a server that is not to run. It may be called more than once.
func (s *Server) Close() error {
	err := s.gate.Close()
	if s.h3 != nil {
		err = errors.Join(err, s.h3.close())
	}
	if s.certs != nil {
		s.certs.close()
	}
	return err
}

// Cut ends a stop at once: what is not done is cut off. Before the stop, it has it end so. It may
// be called at any time from any goroutine.
func (s *Server) Cut() { s.cut() }

// ErrCutOff is what Run returns when not all connections were done within Drain.
var ErrCutOff = errors.New("server: cut off")

// Run serves until ctx ends, then stops as the package comment says. It may be called once. The
// error is nil after a stop within Drain; otherwise it says what failed, or how many connections
// were cut off.
func (s *Server) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("server: Run was called twice: make another server with New")
	}
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{}) // no values, closed here, for the watch
	failed := make(chan error, 4)  // from the engines to here, one each at most
	var engines, watcher sync.WaitGroup
	watcher.Go(func() { s.watch.Run(watched) })
	for _, serve := range s.engines(serving) {
		engines.Go(func() { failed <- serve() })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	close(s.ending)
	err = errors.Join(err, s.stop(&engines))
	close(watched)
	watcher.Wait()
	s.faults.Flush(true)
	return err
}

// engines are what must run beside one another; each ends when s is stopped.
func (s *Server) engines(ctx context.Context) []func() error {
	if s.h2 == nil {
		return []func() error{func() error { return s.h1.Serve(plain{s.gate}) }}
	}
	first, second := newQueue(s.Addr()), newQueue(s.Addr())
	all := []func() error{
		func() error { return s.accept(ctx, first, second) },
		func() error { return s.h1.Serve(first) },
		func() error { return s.h2.Serve(second) },
	}
	if s.h3 != nil {
		all = append(all, s.h3.serve)
	}
	s.certs.manage(ctx)
	return all
}

// stop ends everything, within the drain time where it can.
func (s *Server) stop(engines *sync.WaitGroup) error {
	began := time.Now()
	drain, cancel := context.WithTimeout(s.hurry, s.config.drain())
	defer cancel()
	s.gate.Close()
	s.watch.Stop()
	var shutdowns sync.WaitGroup
	for _, engine := range []*http.Server{s.h1, s.h2} {
		if engine != nil {
			shutdowns.Go(func() { engine.Shutdown(drain) })
		}
	}
	if s.h3 != nil {
		shutdowns.Go(func() { s.h3.shutdown(drain) })
	}
	shutdowns.Wait()
	engines.Wait()
	select {
	case <-s.watch.Empty():
	case <-drain.Done():
	}
	if s.certs != nil {
		s.certs.close()
	}
	if n := s.watch.CloseAll(); n > 0 {
		return fmt.Errorf("%w: %d connections, which were not done after %v", ErrCutOff, n, time.Since(began).Round(time.Millisecond))
	}
	return nil
}
