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

// Config says what is served and to whom. Only Service is needed.
type Config struct {
	Service *chat.Service // not nil; closed by who opened it, after the Page

	// Origins are the hosts whose pages may connect, beside the page's own: patterns of
	// [path.Match] such as "*.example.org", or with a scheme, "https://example.org". Nil: no other
	// host. Who sends no Origin is no browser, and may connect.
	Origins []string

	// OwnHost reports whether a host name, in lower case and without a dot at the end, is one by
	// which this page is reached. Requests by other names are refused; localhost and IP addresses
	// need none. Several goroutines call it at once. Nil: no name is.
	OwnHost func(name string) bool

	Uploads *upload.Store // where files go that are uploaded. Nil: none are taken

	Queue int           // bytes that may wait for a slow client. 0: chat.Outbox
	Drain time.Duration // how long Close lets sessions finish. 0: 5 s
	Meter *serve.Meter  // counts what passes. Nil: not counted for anybody
	// told of a session's panic, by several goroutines at once. Nil: nobody is
	Panicked func(serve.PanicError)
}

// Page is the page and the WebSocket end. Any number of goroutines may use it.
type Page struct {
	cfg     Config
	mux     *http.ServeMux
	guarded http.Handler // mux, for requests by the page's own host names
	doors   *doors

	uploadWithin time.Duration // see upload.go; tests are in a hurry

	origins atomic.Pointer[[]string] // Config.Origins as they are now; never nil

	stop context.CancelFunc
	over chan error // from serve.Run -> Close, one value; capacity 1
	once sync.Once
	err  error // of Close
}

// New makes a page. Who calls New calls Close.
func New(cfg Config) (*Page, error) {
	if cfg.Service == nil {
		return nil, errors.New("page: Service is missing: set it to an open chat.Service")
	}
	if err := checkOrigins(cfg.Origins); err != nil {
		return nil, err
	}
	if cfg.Queue < 0 || cfg.Drain < 0 {
		return nil, errors.New("page: Queue or Drain is below zero: leave it out for its default")
	}
	if cfg.Queue == 0 {
		cfg.Queue = chat.Outbox
	}
	if cfg.Drain == 0 {
		cfg.Drain = 5 * time.Second
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Page{cfg: cfg, mux: http.NewServeMux(), doors: newDoors(), uploadWithin: uploadWithin, stop: stop, over: make(chan error, 1)}
	p.origins.Store(&cfg.Origins)
	p.mux.Handle("GET /irc", http.HandlerFunc(p.talk))
	if cfg.Uploads != nil {
		p.serveUploads()
	}
	p.mux.Handle("GET /", files())
	p.guarded = front.OwnHosts(cfg.OwnHost, "hosts under [web]", p.mux)
	go func() { p.over <- p.run(ctx) }() // until Close
	return p, nil
}

func checkOrigins(all []string) error {
	for _, o := range all {
		if _, err := path.Match(o, ""); err != nil || o == "" {
			return fmt.Errorf("page: Origins has %q, which is no pattern: write a host such as \"*.example.org\"", o)
		}
	}
	return nil
}

// SetOrigins has other Config.Origins hold for whoever connects from now on.
func (p *Page) SetOrigins(all []string) error {
	if err := checkOrigins(all); err != nil {
		return err
	}
	p.origins.Store(&all)
	return nil
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.guarded.ServeHTTP(w, r) }

// run runs the sessions until ctx ends.
func (p *Page) run(ctx context.Context) error {
	open := func(c serve.Conn) serve.Session {
		return p.cfg.Service.Session(c, c.RemoteAddr().(*visitor).peer)
	}
	return serve.Run(ctx, serve.Goroutine, p.doors, serve.Service{Open: open, State: serve.InProcess},
		serve.Options{SendQueue: p.cfg.Queue, DrainTimeout: p.cfg.Drain, OnPanic: p.cfg.Panicked, Meter: p.cfg.Meter})
}

// Close takes no more connections, and ends those that are there once what they said is
// acknowledged. It may be called more than once.
func (p *Page) Close() error {
	p.once.Do(func() {
		p.stop()
		if p.err = <-p.over; errors.Is(p.err, serve.ErrDeadline) {
			p.err = nil // a client that took nothing any more
		}
	})
	return p.err
}

// doors is the listener at which WebSockets are handed to serve.
type doors struct {
	comec  chan net.Conn // from talk -> serve's accept; capacity 0, never closed
	closec chan struct{} // closed by Close
	once   sync.Once
}

func newDoors() *doors { return &doors{comec: make(chan net.Conn), closec: make(chan struct{})} }

// enter hands a connection to serve. It is false when that has stopped.
func (d *doors) enter(c net.Conn) bool {
	select {
	case d.comec <- c:
		return true
	case <-d.closec:
		return false
	}
}

// Accept implements net.Listener.
func (d *doors) Accept() (net.Conn, error) {
	select {
	case c := <-d.comec:
		return c, nil
	case <-d.closec:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *doors) Close() error {
	d.once.Do(func() { close(d.closec) })
	return nil
}

// Addr implements net.Listener.
func (d *doors) Addr() net.Addr { return &visitor{} }
