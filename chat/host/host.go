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

// Events are the callbacks of a host. The zero value has none. They are called by several
// goroutines at once and must not block.
type Events struct {
	// destination of the log, in the format of Config.Log; each Write is one line. nil: discard
	Output io.Writer
	// called for each listener by Open; what is the entrance: "irc", "ircs" (TLS), "web" or
	// "metrics"
	Listening func(what string, addr net.Addr)
}

// Host is a running chat server with its listeners and background work. Run and Reload may be
// called on any goroutine.
type Host struct {
	// Immutable.
	events        Events
	log           *slog.Logger
	level         *slog.LevelVar
	chat          *chat.Service
	entrances     []*entrance
	page          *page.Page    // nil: there is no page
	uploads       *upload.Store // nil: uploads are off
	uploadURL     string        // URL for uploads if the configuration has none
	web           []*server.Server
	certificate   *certificate.Source // nil: there is no TLS
	proxies       front.Proxies
	metricsServer *server.Server // serves metrics and health; nil: not configured
	// Reload -> each loop of retain: run now; capacity 1, one value stands for several, never
	// closed
	retainSignals [2]chan struct{}

	controlServer *http.Server // control socket; nil: none
	controlDone   chan error   // control socket -> closeControl: one value; capacity 1

	metrics   *metrics
	health    health
	retention retentionCounts
	pageMeter serve.Meter

	succession succession

	serving, stopping atomic.Bool
	// current configuration; replaced under reloading, never modified
	config atomic.Pointer[Config]

	listeners []func() // report a listener each; used by Open only

	reloading sync.Mutex // serializes Reload
}

// Open opens the data directory and all listeners. Clients wait until Run. The caller calls Run or
// Close.
func Open(c Config, e Events) (*Host, error) { return open(c, e, upgrade.Handover{}) }

// open is Open, also for a host that takes over from another one.
func open(c Config, e Events, from upgrade.Handover) (*Host, error) {
	if err := c.Check(); err != nil {
		return nil, errors.Join(err, from.Close())
	}
	h := &Host{events: e, retainSignals: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
	h.succession.start(from)
	h.metrics = newMetrics(h)
	h.log, h.level = c.Log.logger(e.Output)
	h.config.Store(&c)
	h.proxies, _ = front.ParseProxies(c.Proxy.Trusted) // valid: checked by Check
	for _, step := range []func(*Config) error{h.openEntrances, h.openTLS, h.openChat, h.openControl, h.openWeb, h.openMetrics} {
		if err := step(&c); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	h.reportListening()
	h.log.Info("open", "data", c.Data)
	if print := h.Fingerprint(); print != "" {
		h.log.Info("the certificate is self-signed", "fingerprint", print, "connect", "weir chat connect --fingerprint "+print)
	}
	h.succession.closeUnused()
	return h, nil
}

// openChat opens the chat service.
func (h *Host) openChat(c *Config) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	options.Log, options.OnCommit = h.log, h.onCommit
	h.chat, err = h.openService(c.Data, options)
	return err
}

// Close closes a host that will not run. It may be called more than once.
func (h *Host) Close() error {
	err := h.closeParts()
	if h.metricsServer != nil {
		err = errors.Join(err, ignoreClosed(h.metricsServer.Close()))
	}
	return err
}

// closeParts closes everything but the metrics.
func (h *Host) closeParts() error {
	var errs []error
	for _, e := range h.entrances {
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

// Chat returns the chat service.
func (h *Host) Chat() *chat.Service { return h.chat }

// Config returns the current configuration, which must not be modified.
func (h *Host) Config() *Config { return h.config.Load() }

// Run serves until ctx ends, and then stops as the package comment describes. It is called once.
// The host is closed when it returns. A stop is not an error.
func (h *Host) Run(ctx context.Context) error {
	if h.metricsServer == nil {
		return h.run(ctx)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var metrics sync.WaitGroup
	var metricsErr error
	// until everything else has ended
	metrics.Go(func() { metricsErr = h.metricsServer.Run(serving) })
	err := h.run(ctx)
	stop()
	metrics.Wait()
	return errors.Join(err, ignoreClosed(ignoreDrainTimeout(metricsErr))) // closed by a handover
}

// ignoreDrainTimeout drops the error for clients that did not read until the deadline.
func ignoreDrainTimeout(err error) error {
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

// abortDrain ends the requests of the page's servers at once.
func (h *Host) abortDrain() {
	for _, s := range h.web {
		s.AbortDrain()
	}
}

func (h *Host) run(ctx context.Context) error {
	defer h.succession.finish()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(h.succession.handoverCtx, func() { stop(serve.ErrHandover) })()
	// for background work and the page, which end after the sessions
	behind, stopBehind := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBehind()
	var front, movers, webs, back sync.WaitGroup
	// each server -> run: its error; capacity for all
	errc := make(chan error, len(h.entrances)+len(h.web)+1)
	h.reserveProcessors()
	for _, e := range h.entrances {
		group := &front
		if e.canMove() {
			group = &movers
		}
		// until ctx ends, or accepting fails
		group.Go(func() { errc <- h.serveEntrance(ctx, e); stop(nil) })
	}
	for _, s := range h.web {
		// until the sessions have ended
		webs.Go(func() { errc <- ignoreDrainTimeout(s.Run(behind)); stop(nil) })
	}
	h.background(behind, &back)
	h.serving.Store(true)
	<-ctx.Done()
	h.stopping.Store(true)
	h.log.Info("stopping")
	defer time.AfterFunc(h.Config().drain(), h.abortDrain).Stop()
	err := h.stopListening(ctx)
	closed := make(chan struct{})                        // closed when the page has ended
	go func() { errc <- h.closePage(); close(closed) }() // while the entrances end
	movers.Wait()
	if handsOver(ctx) {
		waitBriefly(closed)
		stopBehind()
		back.Wait()
		err = errors.Join(err, h.closeControl(), h.release())
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

// background starts the background work, which ends with ctx.
func (h *Host) background(ctx context.Context, group *sync.WaitGroup) {
	h.renew(ctx)
	group.Go(func() { h.retain(ctx, Retention.ages, h.retainSignals[0]) })
	group.Go(func() { h.retain(ctx, Retention.sizes, h.retainSignals[1]) })
	group.Go(func() { h.sweepUploads(ctx) })
}

// panicked logs the panic of a session.
func (h *Host) panicked(p serve.PanicError) {
	h.log.Error("a session panicked", "address", p.Remote, "panic", p.Value, "stack", string(p.Stack))
}

// drain returns the time limit of a graceful stop.
func (c *Config) drain() time.Duration {
	if c.Drain == 0 {
		return 5 * time.Second
	}
	return c.Drain.Std()
}
