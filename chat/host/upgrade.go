package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"weir/chat"
	"weir/chat/upgrade"
	"weir/serve"
)

// succession is a host's state of an upgrade: what it received from the former host, and what it
// hands over to the next one.
type succession struct {
	received upgrade.Handover // received and not yet used

	keptListeners []upgrade.Listener // duplicates of all listeners; until Run stops
	handoverCtx   context.Context    // ending it makes Run hand over
	startHandover func()             // ends handoverCtx
	finish        func()             // closes done; may be called more than once
	done          chan struct{}      // closed by Run when the chat is closed, or Run has ended
	handedOver    upgrade.Handover   // set before done is closed

	mu         sync.Mutex
	movedConns []serve.MovedConn // owners of the connections -> the end of Run
}

func (s *succession) start(from upgrade.Handover) {
	s.received, s.done = from, make(chan struct{})
	s.finish = sync.OnceFunc(func() { close(s.done) })
	s.handoverCtx, s.startHandover = context.WithCancel(context.Background())
}

// closeUnused closes the listeners that the configuration no longer has.
func (s *succession) closeUnused() {
	for _, l := range s.received.Listeners {
		_ = l.File.Close()
	}
	s.received.Listeners = nil
}

// Resume is Open for a host that continues from another one. It takes ownership of everything in
// from, also after an error. No connection is used before Run.
func Resume(c Config, e Events, from upgrade.Handover) (*Host, error) { return open(c, e, from) }

// inheritedListener returns the listener that the former host had at an address, nil if there was
// none.
func (h *Host) inheritedListener(what, address string) (net.Listener, error) {
	return h.succession.received.TakeListener(what + " " + address)
}

// keepListener keeps a duplicate of a listener for the next host.
func (h *Host) keepListener(what, address string, l net.Listener) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	kept, err := upgrade.DuplicateListener(what+" "+address, l)
	if err == nil {
		h.succession.keptListeners = append(h.succession.keptListeners, kept)
	}
	return err
}

// openService opens the chat, or resumes it from the former host.
func (h *Host) openService(dir string, o chat.Options) (*chat.Service, error) {
	from := &h.succession.received
	if from.Lock == nil {
		return chat.Open(dir, o)
	}
	lock := from.Lock
	from.Lock = nil
	if h.adopter() == nil {
		for _, c := range from.Connections {
			_ = c.Close() // no entrance can run them
		}
		from.Connections = nil
	}
	return chat.Resume(dir, o, chat.Handover{Lock: lock, State: from.State, Connections: len(from.Connections)})
}

// adopter returns the entrance that takes over connections: the first with file descriptors.
func (h *Host) adopter() *entrance {
	for _, e := range h.entrances {
		if e.canMove() {
			return e
		}
	}
	return nil
}

// canMove reports whether connections of the entrance can be handed over.
func (e *entrance) canMove() bool {
	_, ok := e.listener.(*net.TCPListener)
	return ok
}

func handsOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), serve.ErrHandover) }

// setHandover sets the connections that an entrance starts with, and where its connections go at a
// handover.
func (h *Host) setHandover(e *entrance, o *serve.Options) {
	if runtime.GOOS != "linux" {
		return
	}
	s := &h.succession
	if e == h.adopter() {
		o.Adopt, s.received.Connections = s.received.Connections, nil
		o.Workers = max(o.Workers, len(o.Adopt))
	}
	o.OnMove = func(m serve.MovedConn) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.movedConns = append(s.movedConns, m)
	}
}

// stopListening closes the duplicates of the listeners, unless ctx ended by a handover.
func (h *Host) stopListening(ctx context.Context) error {
	if handsOver(ctx) {
		return nil
	}
	return h.succession.closeKept()
}

// browserPartTimeout is how long a handover waits for browsers to read their last messages. They
// have more time while the next host already serves.
const browserPartTimeout = 500 * time.Millisecond

// waitBriefly waits until ended is closed, at most browserPartTimeout.
func waitBriefly(ended <-chan struct{}) {
	late := time.NewTimer(browserPartTimeout)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
	}
}

// release collects what the next host continues from, and closes the chat. All movable sessions
// have moved. The others no longer read input and end while the next host serves.
func (h *Host) release() error {
	s := &h.succession
	lock, err := h.chat.DuplicateLock()
	if err != nil {
		return err
	}
	s.handedOver = upgrade.Handover{Lock: lock, Listeners: s.keptListeners, State: h.chat.HandoverState(), Connections: s.movedConns}
	s.keptListeners, s.movedConns = nil, nil
	defer s.finish()
	if h.metricsServer != nil {
		_ = h.metricsServer.Close() // the next host answers from now on
	}
	return h.chat.Close()
}

func (s *succession) closeKept() error {
	var errs []error
	for _, l := range s.keptListeners {
		errs = append(errs, l.File.Close())
	}
	s.keptListeners = nil
	return errors.Join(errs...)
}

// close closes what remains.
func (s *succession) close() error {
	s.startHandover()
	return errors.Join(s.closeKept(), s.received.Close())
}

// freezeTimeout is the disk's time limit for the posts before a handover.
const freezeTimeout = 5 * time.Second

// HandOver makes Run return, and returns what Resume continues from, usually in another process.
// Clients in clear text keep their connections. The others are asked to reconnect; with afresh set,
// all are. closed counts them. After an error the host continues, or it was stopped.
func (h *Host) HandOver(ctx context.Context, afresh bool) (given upgrade.Handover, closed int, err error) {
	frozen, cancel := context.WithTimeout(ctx, freezeTimeout)
	defer cancel()
	if err := h.chat.Freeze(frozen); err != nil {
		return given, 0, err
	}
	sessions := h.chat.DisconnectUnmovable(afresh)
	h.succession.startHandover()
	<-h.succession.done
	if given = h.succession.handedOver; given.Lock == nil {
		return given, 0, errors.New("the server was stopped")
	}
	if afresh {
		given.State = nil
	}
	return given, max(0, sessions-len(given.Connections)), nil
}

// Keeper runs a host and replaces its process by a newer one on request.
type Keeper struct {
	Source  Source           // configuration, which is watched for changes
	Events  Events           // callbacks of the hosts
	Hangup  <-chan os.Signal // a value reloads the configuration
	Upgrade <-chan os.Signal // a value starts an upgrade
	// returns the command of the new process, which receives descriptor 3: see upgrade.Inherited
	Command func() (*exec.Cmd, error)
	Notify  func(state string) // notifies the service manager; nil: there is none
}

// Keep runs h until ctx ends or another process has taken over. The outcome of each upgrade is
// stored in the data directory.
func (k *Keeper) Keep(ctx context.Context, h *Host) (err error) {
	var parting sync.WaitGroup // ends of hosts whose handover was taken back
	defer parting.Wait()
	for h != nil {
		h, err = k.keep(ctx, h, &parting)
	}
	return err
}

// keep runs one host. It returns the next host if that is in this process.
func (k *Keeper) keep(ctx context.Context, h *Host, parting *sync.WaitGroup) (next *Host, err error) {
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { h.Watch(watching, k.Source, k.Hangup) })
	runc := make(chan error, 1) // Run -> keep: once
	go func() { runc <- h.Run(ctx) }()
	for {
		select {
		case err := <-runc:
			return nil, err
		case <-k.Upgrade:
		}
		next, over, err := k.upgrade(ctx, h)
		switch {
		case next != nil:
			parting.Go(func() { h.logEnd(<-runc) }) // until its browsers have disconnected
			return next, err
		case over:
			return nil, errors.Join(err, <-runc)
		}
	}
}

// upgrade hands a host over to a new process. over reports that the host has ended. next is the
// host of this process that resumes after a failure, nil if there is none.
func (k *Keeper) upgrade(ctx context.Context, h *Host) (next *Host, over bool, err error) {
	heir, err := k.start(ctx)
	if err != nil {
		h.failed(err)
		return nil, false, nil
	}
	given, closed, err := h.HandOver(ctx, heir.Version != chat.HandoverVersion)
	if err == nil {
		err = k.sendState(ctx, heir, given)
	}
	if err == nil {
		h.succeeded(heir.PID(), len(given.Connections), closed)
		return nil, true, given.Close()
	}
	err = errors.Join(err, heir.Kill())
	h.failed(err)
	if given.Lock == nil { // nothing was handed over
		return nil, h.hasEnded(), nil
	}
	next, err = Resume(*h.Config(), k.Events, given)
	return next, true, err
}

func (k *Keeper) start(ctx context.Context) (*upgrade.Successor, error) {
	cmd, err := k.Command()
	if err != nil {
		return nil, err
	}
	return upgrade.Start(ctx, cmd)
}

// sendState sends everything to the new process and lets it serve.
func (k *Keeper) sendState(ctx context.Context, heir *upgrade.Successor, given upgrade.Handover) error {
	if err := heir.Transfer(ctx, given); err != nil {
		return err
	}
	// the server was stopped meanwhile, which is meant for the process that serves
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if k.Notify != nil {
		k.Notify(fmt.Sprintf("MAINPID=%d", heir.PID()))
	}
	return heir.Commit()
}

// hasEnded reports whether Run has ended.
func (h *Host) hasEnded() bool {
	select {
	case <-h.succession.done:
		return true
	default:
		return false
	}
}

// logEnd logs the error of a host whose handover was taken back.
func (h *Host) logEnd(err error) {
	if err != nil {
		h.log.Error("the former host did not end cleanly", "error", err)
	}
}

func (h *Host) failed(why error) {
	h.log.Error("the upgrade failed: this process continues", "error", why)
	h.outcome(upgrade.Outcome{PID: os.Getpid(), Error: why.Error()})
}

func (h *Host) succeeded(pid, kept, closed int) {
	h.log.Info("upgraded: another process continues", "process", pid, "kept", kept, "closed", closed)
	h.outcome(upgrade.Outcome{PID: pid, Kept: kept, Closed: closed})
}

func (h *Host) outcome(o upgrade.Outcome) {
	o.At = time.Now()
	if err := o.Write(h.Config().Data); err != nil {
		h.log.Error("the outcome of the upgrade could not be stored", "error", err)
	}
}
