package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/chat"
	"weir/chat/front"
	"weir/chat/page"
	"weir/chat/upgrade"
	"weir/chat/upload"
	"weir/internal/certificate"
	"weir/serve"
	"weir/web/server"
)

// Events are what a host tells its owner. The zero value tells nothing. Functions are called by
// several goroutines at once, and must not block.
type Events struct {
	// where the log goes, as Config.Log has it; a Write is a line. Nil: nowhere
	Output io.Writer
	// Open listens: what is the entrance's name, "irc", "ircs" (by TLS), "web" or "metrics"
	Listening func(what string, addr net.Addr)
}

// Host is a chat with all that is around it. Run and Reload may be called from any goroutine.
type Host struct {
	// Immutable.
	events      Events
	log         *slog.Logger
	level       *slog.LevelVar
	chat        *chat.Service
	ways        []*entrance
	page        *page.Page    // nil: there is none
	uploads     *upload.Store // nil: there are none
	uploadURL   string        // where clients upload if the configuration says nothing
	web         []*server.Server
	certificate *certificate.Source // nil: there is no TLS
	proxies     front.Proxies
	asked       *server.Server // tells how the server is; nil: nobody can ask
	// from Reload -> each loop of retain: look again; capacity 1, one value stands for several,
	// never closed
	again [2]chan struct{}

	control    *http.Server // changes rooms for the shell; nil: there is none
	controlled chan error   // from it -> closeControl, one value; capacity 1

	metrics   *metrics
	health    health
	retained  retained
	pageMeter serve.Meter

	succession succession

	serving, stopping atomic.Bool
	config            atomic.Pointer[Config] // what holds; replaced under reloading, never changed

	listening []func() // tell of each listener; only while the host is opened

	reloading sync.Mutex // one Reload at a time
}

// Open opens the data directory and everything that listens. Clients wait until Run. Who calls Open
// calls Run, or Close.
func Open(c Config, e Events) (*Host, error) { return open(c, e, upgrade.Handover{}) }

// open is Open, for a host that takes over from another too.
func open(c Config, e Events, from upgrade.Handover) (*Host, error) {
	if err := c.Check(); err != nil {
		return nil, errors.Join(err, from.Close())
	}
	h := &Host{events: e, again: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
	h.succession.begin(from)
	h.metrics = newMetrics(h)
	h.log, h.level = c.Log.logger(e.Output)
	h.config.Store(&c)
	h.proxies, _ = front.ParseProxies(c.Proxy.Trusted) // Check has seen them
	for _, step := range []func(*Config) error{h.openEntrances, h.openTLS, h.openChat, h.openControl, h.openWeb, h.openMetrics} {
		if err := step(&c); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	h.tellListening()
	h.log.Info("open", "data", c.Data)
	if print := h.Fingerprint(); print != "" {
		h.log.Info("the certificate is self-signed", "fingerprint", print, "connect", "weir chat connect --fingerprint "+print)
	}
	h.succession.ready()
	return h, nil
}

// openChat opens what is kept.
func (h *Host) openChat(c *Config) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	options.Log, options.OnCommit = h.log, h.committed
	h.chat, err = h.openService(c.Data, options)
	return err
}

// Close ends a host that is not to run. It may be called more than once.
func (h *Host) Close() error {
	err := h.closeParts()
	if h.asked != nil {
		err = errors.Join(err, ignoreClosed(h.asked.Close()))
	}
	return err
}

// closeParts closes everything but the metrics.
func (h *Host) closeParts() error {
	var errs []error
	for _, e := range h.ways {
		errs = append(errs, e.close())
	}
	if h.page != nil {
		errs = append(errs, h.page.Close())
	}
	for _, s := range h.web {
		errs = append(errs, ignoreClosed(s.Close()))
	}
	errs = append(errs, h.succession.close())
	errs = append(errs, h.closeControl())
	if h.certificate != nil {
		h.certificate.Close()
	}
	if h.chat != nil {
		errs = append(errs, h.chat.Close())
	}
	return errors.Join(errs...)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Chat is the service.
func (h *Host) Chat() *chat.Service { return h.chat }

// Config is what holds now. It is not to be changed.
func (h *Host) Config() *Config { return h.config.Load() }

// Run serves until ctx ends, and then stops as the package comment says. It is called once; the
// host is closed when it returns. A stop is no error.
func (h *Host) Run(ctx context.Context) error {
	if h.asked == nil {
		return h.run(ctx)
	}
	telling, stop := context.WithCancel(context.WithoutCancel(ctx))
	var teller sync.WaitGroup
	var told error
	teller.Go(func() { told = h.asked.Run(telling) }) // until all else has ended
	err := h.run(ctx)
	stop()
	teller.Wait()
	return errors.Join(err, ignoreClosed(cutOff(told))) // a hand-over has closed it
}

// cutOff is a web server's error, but for that of a client that took nothing any more.
func cutOff(err error) error {
	if errors.Is(err, server.ErrDrainTimeout) {
		return nil
	}
	return err
}

func (h *Host) closePage() error {
	if h.page == nil {
		return nil
	}
	return h.page.Close()
}

// cut ends at once what the page's server is still doing.
func (h *Host) cut() {
	for _, s := range h.web {
		s.AbortDrain()
	}
}

func (h *Host) run(ctx context.Context) error {
	defer h.succession.end()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(h.succession.leaving, func() { stop(serve.ErrHandover) })()
	// of what ends after the sessions
	behind, stopBehind := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBehind()
	var front, movers, webs, back sync.WaitGroup
	errc := make(chan error, len(h.ways)+len(h.web)+1) // from what runs -> here; room for all
	for _, e := range h.ways {
		group := &front
		if e.moves() {
			group = &movers
		}
		// until ctx ends, or accepting fails
		group.Go(func() { errc <- h.enter(ctx, e); stop(nil) })
	}
	for _, s := range h.web {
		// until the sessions have ended
		webs.Go(func() { errc <- cutOff(s.Run(behind)); stop(nil) })
	}
	h.background(behind, &back)
	h.serving.Store(true)
	<-ctx.Done()
	h.stopping.Store(true)
	h.log.Info("stopping")
	defer time.AfterFunc(h.Config().drain(), h.cut).Stop()
	err := h.stopListening(ctx)
	closed := make(chan struct{})                        // by the page's end
	go func() { errc <- h.closePage(); close(closed) }() // beside the entrances
	movers.Wait()
	if handsOver(ctx) {
		partly(closed)
		stopBehind()
		back.Wait()
		err = errors.Join(err, h.closeControl(), h.give())
	}
	front.Wait()
	<-closed
	stopBehind()
	back.Wait()
	webs.Wait()
	err = errors.Join(err, h.closeControl())
	close(errc)
	for e := range errc {
		err = errors.Join(err, e)
	}
	return errors.Join(err, h.closeParts())
}

// background starts what runs beside the sessions, until ctx ends.
func (h *Host) background(ctx context.Context, group *sync.WaitGroup) {
	h.renew(ctx)
	group.Go(func() { h.retain(ctx, Retention.ages, h.again[0]) })
	group.Go(func() { h.retain(ctx, Retention.sizes, h.again[1]) })
	group.Go(func() { h.sweepUploads(ctx) })
}

// panicked logs a session's panic.
func (h *Host) panicked(p serve.PanicError) {
	h.log.Error("a session panicked", "address", p.Remote, "panic", p.Value, "stack", string(p.Stack))
}

// drain is how long sessions may take to end.
func (c *Config) drain() time.Duration {
	if c.Drain == 0 {
		return 5 * time.Second
	}
	return c.Drain.Long()
}
