package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"weir/chat"
	"weir/chat/page"
	"weir/serve"
	"weir/web/server"
)

// Events are what a host tells its owner. The zero value tells nothing. Functions are called by several goroutines at once, and must not block.
type Events struct {
	Output    io.Writer                        // where the log goes, as Config.Log has it; a Write is a line. Nil: nowhere
	Listening func(what string, addr net.Addr) // Open listens: what is the entrance's name, "irc", "web" or "metrics"
}

// Host is a chat with all that is around it. Run and Reload may be called from any goroutine.
type Host struct {
	// Immutable.
	events Events
	log    *slog.Logger
	level  *slog.LevelVar
	chat   *chat.Service
	ways   []*entrance
	page   *page.Page // nil: there is none
	web    []*server.Server

	stopping atomic.Bool
	config   atomic.Pointer[Config] // what holds; replaced under reloading, never changed

	reloading sync.Mutex // one Reload at a time
}

// Open opens the data directory and everything that listens. Clients wait until Run. Who calls Open calls Run, or Close.
func Open(c Config, e Events) (*Host, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	h := &Host{events: e}
	h.log, h.level = c.Log.logger(e.Output)
	h.config.Store(&c)
	for _, step := range []func(*Config) error{h.openEntrances, h.openChat, h.openWeb} {
		if err := step(&c); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	h.log.Info("open", "data", c.Data)
	return h, nil
}

// openChat opens what is kept.
func (h *Host) openChat(c *Config) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	options.Log = h.log
	h.chat, err = chat.Open(c.Data, options)
	return err
}

// Close ends a host that is not to run, and what Run has left open. It may be called more than once.
func (h *Host) Close() error {
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

// Run serves until ctx ends, and then stops as the package comment says. It is called once; the host is closed when it returns. A stop is
// no error.
func (h *Host) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	behind, stopBehind := context.WithCancel(context.WithoutCancel(ctx)) // of what ends after the sessions
	defer stopBehind()
	var front, back sync.WaitGroup
	errc := make(chan error, len(h.ways)+len(h.web)) // from what runs -> here; room for all
	for _, e := range h.ways {
		front.Go(func() { errc <- h.enter(ctx, e); stop() }) // until ctx ends, or accepting fails
	}
	for _, s := range h.web {
		back.Go(func() { errc <- s.Run(behind); stop() }) // until the sessions have ended
	}
	h.background(behind, &back)
	<-ctx.Done()
	h.stopping.Store(true)
	h.log.Info("stopping")
	var err error
	if h.page != nil {
		err = h.page.Close() // beside the entrances
	}
	front.Wait()
	stopBehind()
	back.Wait()
	close(errc)
	for e := range errc {
		err = errors.Join(err, e)
	}
	return errors.Join(err, h.Close())
}

// background starts what runs beside the sessions, until ctx ends.
func (h *Host) background(ctx context.Context, group *sync.WaitGroup) {
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
