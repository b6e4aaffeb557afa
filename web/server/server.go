package server

import (
	"cmp"
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
	"weir/web/internal/engine"
)

// Server serves one address.
type Server struct {
	config         Config
	trustedProxies client.TrustedProxies
	// Rate limit in front of ErrorLog: clients cannot flood the log, and a log that blocks does not
	// stop the server.
	faults   *lograte.Limiter
	listener *limitedListener
	watch    *conn.Watch
	handler  atomic.Pointer[http.Handler]
	engine   *engine.Server // of HTTP/1; nil: net/http's
	// Closed when the engine has ended; carries no values.
	http1Ended chan struct{}
	h1, h2     *http.Server // h1 is nil with engine, h2 without TLS
	certs      *certificates
	waiting    atomic.Int64     // connections on event loops that wait for a place
	h2Conns    *handoffListener // of h2, with event loops
	h3         *quicServer      // nil without HTTP/3
	stop       func()           // ends Run; set by Run
	// Run was called
	running      atomic.Bool
	baseContext  context.Context // parent of every request's context
	stopping     chan struct{}   // carries no values; closed by Run when shutdown starts
	drainContext context.Context // ends the drain early; canceled by AbortDrain
	cancelDrain  context.CancelFunc
}

// Run serves a handler on a listener until ctx ends: [New] and [Server.Run] in one call. It ignores
// c.Addr and c.Listener, and closes l, also after an error. In a child process (c.IsChild), l is
// nil.
func Run(ctx context.Context, l net.Listener, h http.Handler, c Config) error {
	c.Listener = l
	s, err := New(h, c)
	if err != nil {
		if l != nil {
			l.Close()
		}
		return err
	}
	return s.Run(ctx)
}

// New listens. Until Run, connections wait in the kernel. The caller must call Close on a server
// that is not run.
func New(h http.Handler, c Config) (*Server, error) {
	if err := cmp.Or(c.validate(), UnsupportedState(h, c.Model)); err != nil {
		return nil, err
	}
	s := &Server{config: c, watch: conn.NewWatch(c.connRules()), stopping: make(chan struct{}), http1Ended: make(chan struct{})}
	s.trustedProxies, _ = client.ParseTrustedProxies(c.TrustedProxies) // validate has checked them
	s.faults = lograte.New(time.Minute, c.logf)
	s.baseContext = conn.WithStopping(context.Background(), s.stopping)
	s.drainContext, s.cancelDrain = context.WithCancel(context.Background())
	s.SetHandler(h)
	l, err := listen(c)
	if err != nil {
		return nil, err
	}
	s.listener = newLimitedListener(l, s.watch, s.watch.Places(c.maxConns(), c.maxConnsPerClient(), s.trustedProxies), s.reportOverLimit)
	if c.Engine != NetHTTP {
		s.engine = s.newHTTP1()
	} else {
		s.h1 = s.newEngine()
	}
	if c.TLS == nil {
		s.listener.rejectsInPlainHTTP = true
		return s, nil
	}
	if err := s.setUpTLS(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func listen(c Config) (net.Listener, error) {
	switch {
	case c.IsChild:
		return inherited{}, nil
	case c.Listener != nil:
		return c.Listener, nil
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, listening.Explain(c.Addr, err)
	}
	return l, nil
}

// newEngine returns a net/http server with the settings that HTTP/1 and HTTP/2 share. For HTTP/1
// the watch enforces timeouts instead of net/http.
func (s *Server) newEngine() *http.Server {
	return &http.Server{
		Handler: s, ErrorLog: log.New(lineWriter(s.logEngineLine), "", 0), MaxHeaderBytes: s.config.maxHeadBytes(),
		BaseContext: func(net.Listener) context.Context { return s.baseContext }, ConnContext: conn.NewContext,
	}
}

// setUpTLS creates what TLS adds: certificates, HTTP/2, HTTP/3.
func (s *Server) setUpTLS() (err error) {
	if s.certs, err = newCertificates(&s.config, s.faults, s.listener.Addr()); err != nil {
		return err
	}
	s.h2 = s.newEngine()
	s.h2.IdleTimeout = s.config.connRules().Idle
	s.h2.ReadHeaderTimeout = s.config.connRules().Header
	s.h2.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 250, SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	if s.config.HTTP3 {
		s.h3, err = newQUIC(s)
	}
	return err
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// SetHandler makes h, which must not be nil, answer later requests. It is safe for concurrent use.
func (s *Server) SetHandler(h http.Handler) { s.handler.Store(&h) }

// ServeHTTP is called by the engines.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.h3 != nil && r.ProtoMajor < 3 {
		s.h3.advertise(w.Header())
	}
	if s.engine == nil && r.ProtoMajor == 1 && (r.Header["Upgrade"] != nil || r.Method == http.MethodConnect) {
		stoppable, cancel := conn.WithStop(r)
		defer cancel()
		r = stoppable
	}
	if place := conn.PlaceOf(r.Context()); place != nil {
		place.Begin()
		defer place.End()
	}
	if s.trustedProxies != nil {
		r = s.withForwardedClient(r)
	}
	if rules := s.config.connRules(); r.ProtoMajor > 1 && rules.Grace > 0 {
		guarded := newGuardedStream(w, r, rules)
		defer guarded.finish()
		w = guarded
	}
	h := *s.handler.Load()
	// it was replaced since the engine has asked
	if x, ok := w.(engineResponse); ok && !reusesExchanges(h) {
		x.Detach()
		x.LeaveLoop()
	}
	h.ServeHTTP(w, r)
}

// engineResponse is a response of the own engine.
type engineResponse interface {
	Detach()
	LeaveLoop()
}

// Connections returns the number of open connections, idle ones included.
func (s *Server) Connections() int { return s.listener.connLimit.Open() }

// reportOverLimit logs that a client has as many connections as it may have.
func (s *Server) reportOverLimit(from net.Addr) {
	who := client.Network(from.String())
	s.faults.Say(who.String(), fmt.Sprintf("server: %v has %d connections open, which is the limit for one client: a further one was closed; "+
		"raise the limit (max_connections_per_client in a site), or add the address to trusted if it is a load balancer", who, s.config.maxConnsPerClient()))
}

// logEngineLine receives a log line of net/http.
func (s *Server) logEngineLine(line string) { s.faults.Say(line[:min(len(line), 40)], line) }

// Dropped returns the number of connections closed because the client was too slow or idle for too
// long.
func (s *Server) Dropped() int64 {
	if s.engine == nil {
		return s.watch.Dropped()
	}
	return s.watch.Dropped() + s.engine.Dropped()
}

// Close releases a server that is not run. It may be called more than once.
func (s *Server) Close() error {
	err := s.listener.Close()
	if s.h3 != nil {
		err = errors.Join(err, s.h3.close())
	}
	if s.certs != nil {
		s.certs.close()
	}
	return err
}

// AbortDrain ends graceful shutdown at once: requests in progress are cut off. Called before
// shutdown, it makes the later shutdown immediate. It is safe for concurrent use.
func (s *Server) AbortDrain() { s.cancelDrain() }

// ErrDrainTimeout is returned by Run if connections were still in use after DrainTimeout.
var ErrDrainTimeout = errors.New("server: cut off")

// Run serves until ctx ends, then shuts down as the package comment describes. It may be called
// once. The error is nil after a shutdown within DrainTimeout; otherwise it says what failed, or
// how many connections were cut off.
func (s *Server) Run(ctx context.Context) error {
	if s.running.Swap(true) {
		return errors.New("server: Run was called twice: make another server with New")
	}
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	s.stop = cancel
	watched := make(chan struct{}) // carries no values; closed here, ends the watch
	failed := make(chan error, 4)  // from the engines; at most one error each
	var engines, watcher sync.WaitGroup
	watcher.Go(func() { s.watch.Run(watched) })
	for _, serve := range s.serveFuncs(serving) {
		engines.Go(func() { failed <- serve() })
	}
	var err error
	select {
	case <-serving.Done():
	case err = <-failed:
	}
	cancel()
	close(s.stopping)
	err = errors.Join(err, s.shutDown(&engines))
	close(watched)
	watcher.Wait()
	s.faults.Flush(true)
	return err
}

// serveFuncs returns the functions that must run concurrently. Each returns when the server is shut
// down.
func (s *Server) serveFuncs(ctx context.Context) []func() error {
	serveFirst := s.serveHTTP1Func(ctx)
	if servesTurns(s.config.Model) {
		return s.serveTurnFuncs(ctx)
	}
	if s.h2 == nil {
		l := net.Listener(plainListener{s.listener})
		if s.engine != nil {
			l = lineListener{s.listener}
		}
		return []func() error{func() error { return serveFirst(l) }}
	}
	first, second := newHandoffListener(s.Addr()), newHandoffListener(s.Addr())
	all := []func() error{
		func() error { return s.acceptTLS(ctx, first, second) },
		func() error { return serveFirst(first) },
		func() error { return s.h2.Serve(second) },
	}
	if s.h3 != nil {
		all = append(all, s.h3.serve)
	}
	s.certs.manage(ctx)
	return all
}

// serveTurnFuncs is serveFuncs for connections that package serve accepts.
func (s *Server) serveTurnFuncs(ctx context.Context) []func() error {
	all := []func() error{func() error { return s.serveTurns(ctx) }}
	if s.h2 != nil {
		s.h2Conns = newHandoffListener(s.Addr())
		all = append(all, func() error { return s.h2.Serve(s.h2Conns) })
		s.certs.manage(ctx)
	}
	if s.h3 != nil {
		all = append(all, s.h3.serve)
	}
	return all
}

// serveHTTP1Func returns the function that serves HTTP/1 on the connections of a listener.
func (s *Server) serveHTTP1Func(ctx context.Context) func(net.Listener) error {
	if s.engine == nil {
		return s.h1.Serve
	}
	return func(l net.Listener) error { return s.serveHTTP1(ctx, l) }
}

// shutDown stops accepting, drains until DrainTimeout, and closes the rest.
func (s *Server) shutDown(engines *sync.WaitGroup) error {
	began := time.Now()
	drain, cancel := context.WithTimeout(s.drainContext, s.config.drainTimeout())
	defer cancel()
	s.listener.Close()
	s.watch.Stop()
	var shutdowns sync.WaitGroup
	cut := 0 // connections that were in use when the time was over
	if s.engine != nil {
		s.engine.Stop()
		shutdowns.Go(func() { cut = s.awaitHTTP1(drain) })
	}
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
	if n := cut + s.watch.CloseAll(); n > 0 {
		return fmt.Errorf("%w: %d connections were still in use after %v", ErrDrainTimeout, n, time.Since(began).Round(time.Millisecond))
	}
	return nil
}
