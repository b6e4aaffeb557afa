package page

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"weir/chat"
	"weir/chat/front"
	"weir/chat/upload"
	"weir/serve"
)

//go:embed site
var site embed.FS

// Config are the parameters of New. Only Service is required.
type Config struct {
	Service *chat.Service // required; closed by the caller after the Page

	// Origins are the hosts whose pages may connect, besides the page's own host. Each is a pattern
	// of [path.Match] such as "*.example.org", or with a scheme, "https://example.org". Nil allows
	// no other host. Requests without an Origin do not come from a browser and are allowed.
	Origins []string

	// OwnHost reports whether a host name, in lower case and without a trailing dot, is one of this
	// page's names. Requests for other names are refused; localhost and IP addresses are always
	// allowed. It is called concurrently. Nil allows no name.
	OwnHost func(name string) bool

	Uploads *upload.Store // stores uploaded files. Nil disables uploads

	Queue int           // bytes of output that are queued for a slow client. 0 means chat.Outbox
	Drain time.Duration // how long Close waits for sessions to finish. 0 means 5 s
	Meter *serve.Meter  // counts connections and bytes; nil for none
	// Called for each panic of a session, concurrently. Nil ignores them.
	OnPanic func(serve.PanicError)
}

// Page serves the page and the WebSocket endpoint. It is safe for concurrent use.
type Page struct {
	cfg         Config
	mux         *http.ServeMux
	hostChecked http.Handler // mux behind the check of the Host header
	connQueue   *connQueue
	clients     liveClients

	uploadTimeout time.Duration // shortened by tests

	origins atomic.Pointer[[]string] // current Config.Origins; never nil

	stop      context.CancelFunc
	runResult chan error // result of serve.Run; capacity 1
	closeOnce sync.Once
	closeErr  error // result of Close
}

// New creates a page. The caller must call Close.
func New(cfg Config) (*Page, error) {
	if cfg.Service == nil {
		return nil, errors.New("page: Service is missing: set it to an open chat.Service")
	}
	if err := checkOrigins(cfg.Origins); err != nil {
		return nil, err
	}
	if cfg.Queue < 0 || cfg.Drain < 0 {
		return nil, errors.New("page: Queue or Drain is negative: set it to 0 for the default")
	}
	if cfg.Queue == 0 {
		cfg.Queue = chat.Outbox
	}
	if cfg.Drain == 0 {
		cfg.Drain = 5 * time.Second
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Page{cfg: cfg, mux: http.NewServeMux(), connQueue: newConnQueue(), uploadTimeout: uploadTimeout, stop: stop, runResult: make(chan error, 1)}
	p.origins.Store(&cfg.Origins)
	p.mux.Handle("GET /irc", http.HandlerFunc(p.serveWebSocket))
	if cfg.Uploads != nil {
		p.serveUploads()
	}
	p.mux.Handle("GET /", siteFiles())
	p.hostChecked = front.OwnHosts(cfg.OwnHost, "hosts under [web]", p.mux)
	go func() { p.runResult <- p.run(ctx) }() // until Close
	return p, nil
}

func checkOrigins(all []string) error {
	for _, o := range all {
		if _, err := path.Match(o, ""); err != nil || o == "" {
			return fmt.Errorf("page: invalid pattern %q in Origins: use a host such as \"*.example.org\"", o)
		}
	}
	return nil
}

// SetOrigins replaces Config.Origins for new connections.
func (p *Page) SetOrigins(all []string) error {
	if err := checkOrigins(all); err != nil {
		return err
	}
	p.origins.Store(&all)
	return nil
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.hostChecked.ServeHTTP(w, r) }

// run runs the sessions until ctx ends.
func (p *Page) run(ctx context.Context) error {
	open := func(c serve.Conn) serve.Session {
		return p.cfg.Service.Session(c, c.RemoteAddr().(*clientAddr).peer)
	}
	return serve.Run(ctx, serve.Goroutine, p.connQueue, serve.Service{Open: open, State: serve.InProcess},
		serve.Options{SendQueue: p.cfg.Queue, DrainTimeout: p.cfg.Drain, OnPanic: p.cfg.OnPanic, Meter: p.cfg.Meter})
}

// Close accepts no more connections and ends the open ones after their messages are acknowledged.
// It can be called more than once.
func (p *Page) Close() error {
	p.closeOnce.Do(func() {
		p.stop()
		if p.closeErr = <-p.runResult; errors.Is(p.closeErr, serve.ErrDeadline) {
			p.closeErr = nil // a client did not read its output in time
		}
	})
	return p.closeErr
}

// connQueue is the net.Listener through which WebSockets are passed to serve.
type connQueue struct {
	conns  chan net.Conn // unbuffered, never closed
	closed chan struct{} // closed by Close
	once   sync.Once
}

func newConnQueue() *connQueue {
	return &connQueue{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// push passes a connection to serve. It reports whether serve accepted it, false after Close.
func (d *connQueue) push(c net.Conn) bool {
	select {
	case d.conns <- c:
		return true
	case <-d.closed:
		return false
	}
}

// Accept implements net.Listener.
func (d *connQueue) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *connQueue) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// Addr implements net.Listener.
func (d *connQueue) Addr() net.Addr { return &clientAddr{} }
