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

// succession is a host's part in an upgrade: what it has from the host before it, and what it gives
// to the next.
type succession struct {
	from upgrade.Handover // what nobody has taken yet

	kept    []upgrade.Listener // duplicates of all listeners; until Run stops
	leaving context.Context    // its end has Run hand over
	leave   func()             // ends it
	end     func()             // closes gone; may be called more than once
	gone    chan struct{}      // closed by Run when the chat is closed, or it has ended
	given   upgrade.Handover   // written before gone is closed

	mu    sync.Mutex
	moved []serve.MovedConn // from their owners -> the end of Run
}

func (s *succession) begin(from upgrade.Handover) {
	s.from, s.gone = from, make(chan struct{})
	s.end = sync.OnceFunc(func() { close(s.gone) })
	s.leaving, s.leave = context.WithCancel(context.Background())
}

// ready gives up the listeners that nobody wanted.
func (s *succession) ready() {
	for _, l := range s.from.Listeners {
		_ = l.File.Close()
	}
	s.from.Listeners = nil
}

// Resume is Open for a host that goes on where another has ended, of which it takes over
// everything, also when it fails. No connection is read from or written to before Run.
func Resume(c Config, e Events, from upgrade.Handover) (*Host, error) { return open(c, e, from) }

// inherited is the listener that the host before this one had at an address, nil if there was none.
func (h *Host) inherited(what, address string) (net.Listener, error) {
	return h.succession.from.TakeListener(what + " " + address)
}

// keep keeps a duplicate of a listener for the host after this one.
func (h *Host) keep(what, address string, l net.Listener) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	kept, err := upgrade.DuplicateListener(what+" "+address, l)
	if err == nil {
		h.succession.kept = append(h.succession.kept, kept)
	}
	return err
}

// openService opens the chat, or has it go on.
func (h *Host) openService(dir string, o chat.Options) (*chat.Service, error) {
	from := &h.succession.from
	if from.Lock == nil {
		return chat.Open(dir, o)
	}
	lock := from.Lock
	from.Lock = nil
	if h.adopter() == nil {
		for _, c := range from.Connections {
			_ = c.Close() // no way in would have them
		}
		from.Connections = nil
	}
	return chat.Resume(dir, o, chat.Handover{Lock: lock, State: from.State, Connections: len(from.Connections)})
}

// adopter is the entrance that takes connections over: the first that has descriptors.
func (h *Host) adopter() *entrance {
	for _, e := range h.ways {
		if e.moves() {
			return e
		}
	}
	return nil
}

// moves says whether the connections of an entrance can be handed over.
func (e *entrance) moves() bool {
	_, ok := e.listener.(*net.TCPListener)
	return ok
}

func handsOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), serve.ErrHandover) }

// adopts gives an entrance's run what it is to begin with, and where its connections go at a
// hand-over.
func (h *Host) adopts(e *entrance, o *serve.Options) {
	if runtime.GOOS != "linux" {
		return
	}
	s := &h.succession
	if e == h.adopter() {
		o.Adopt, s.from.Connections = s.from.Connections, nil
		o.Workers = max(o.Workers, len(o.Adopt))
	}
	o.OnMove = func(m serve.MovedConn) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moved = append(s.moved, m)
	}
}

// stopListening closes the duplicates of the listeners, if ctx did not end by a hand-over.
func (h *Host) stopListening(ctx context.Context) error {
	if handsOver(ctx) {
		return nil
	}
	return h.succession.closeKept()
}

// partWithin is how long a hand-over waits for browsers to take what they are told. They are given
// longer, but beside the next host.
const partWithin = 500 * time.Millisecond

// partly waits for an end, but not for long.
func partly(ended <-chan struct{}) {
	late := time.NewTimer(partWithin)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
	}
}

// give notes what the next host goes on from, and closes the chat. All sessions that can move have.
// The others, of which nothing is taken any more, part beside the next host.
func (h *Host) give() error {
	s := &h.succession
	lock, err := h.chat.DuplicateLock()
	if err != nil {
		return err
	}
	s.given = upgrade.Handover{Lock: lock, Listeners: s.kept, State: h.chat.HandoverState(), Connections: s.moved}
	s.kept, s.moved = nil, nil
	defer s.end()
	if h.asked != nil {
		_ = h.asked.Close() // the next host is asked from now on
	}
	return h.chat.Close()
}

func (s *succession) closeKept() error {
	var errs []error
	for _, l := range s.kept {
		errs = append(errs, l.File.Close())
	}
	s.kept = nil
	return errors.Join(errs...)
}

// close closes what is left.
func (s *succession) close() error {
	s.leave()
	return errors.Join(s.closeKept(), s.from.Close())
}

// freezeWithin is how long the disk may take for what was said before a hand-over.
const freezeWithin = 5 * time.Second

// HandOver has Run end, and returns what Resume, mostly in another process, goes on from. Clients
// in clear text, those behind a proxy too, keep their connections; all others, and with afresh
// everybody, are told to connect again: closed is how many. An error means that the host runs on,
// or that it was stopped.
func (h *Host) HandOver(ctx context.Context, afresh bool) (given upgrade.Handover, closed int, err error) {
	frozen, cancel := context.WithTimeout(ctx, freezeWithin)
	defer cancel()
	if err := h.chat.Freeze(frozen); err != nil {
		return given, 0, err
	}
	sessions := h.chat.DisconnectUnmovable(afresh)
	h.succession.leave()
	<-h.succession.gone
	if given = h.succession.given; given.Lock == nil {
		return given, 0, errors.New("the server was stopped")
	}
	if afresh {
		given.State = nil
	}
	return given, max(0, sessions-len(given.Connections)), nil
}

// Keeper runs a host, and has it followed by another process when that is asked for.
type Keeper struct {
	Source  Source           // of the configuration, which is watched
	Events  Events           // of hosts
	Hangup  <-chan os.Signal // a value: read the configuration again
	Upgrade <-chan os.Signal // a value: be followed
	// the new process; descriptor 3 will be what upgrade.Inherited wants
	Command func() (*exec.Cmd, error)
	Notify  func(state string) // tells the service manager; nil: there is none
}

// Keep runs h until ctx ends, or another process has taken over. The outcome of each upgrade is
// kept in the data directory.
func (k *Keeper) Keep(ctx context.Context, h *Host) (err error) {
	var parting sync.WaitGroup // what is left of hosts of which everything was taken back
	defer parting.Wait()
	for h != nil {
		h, err = k.keep(ctx, h, &parting)
	}
	return err
}

// keep runs one host. It returns the next one if that is of this process.
func (k *Keeper) keep(ctx context.Context, h *Host, parting *sync.WaitGroup) (next *Host, err error) {
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { h.Watch(watching, k.Source, k.Hangup) })
	runc := make(chan error, 1) // Run -> here, once
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
			parting.Go(func() { h.parted(<-runc) }) // until its browsers have parted
			return next, err
		case over:
			return nil, errors.Join(err, <-runc)
		}
	}
}

// upgrade has a host followed. Over says that it has ended; next is the host of this process that
// goes on then, nil if there is none.
func (k *Keeper) upgrade(ctx context.Context, h *Host) (next *Host, over bool, err error) {
	heir, err := k.start(ctx)
	if err != nil {
		h.failed(err)
		return nil, false, nil
	}
	given, closed, err := h.HandOver(ctx, heir.Version != chat.HandoverVersion)
	if err == nil {
		err = k.hand(ctx, heir, given)
	}
	if err == nil {
		h.succeeded(heir.PID(), len(given.Connections), closed)
		return nil, true, given.Close()
	}
	err = errors.Join(err, heir.Kill())
	h.failed(err)
	if given.Lock == nil { // it was not handed over
		return nil, h.isOver(), nil
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

// hand gives everything to the new process, and lets it go on.
func (k *Keeper) hand(ctx context.Context, heir *upgrade.Successor, given upgrade.Handover) error {
	if err := heir.Transfer(ctx, given); err != nil {
		return err
	}
	if ctx.Err() != nil { // a stop that came meanwhile is meant for whoever serves
		return context.Cause(ctx)
	}
	if k.Notify != nil {
		k.Notify(fmt.Sprintf("MAINPID=%d", heir.PID()))
	}
	return heir.Commit()
}

// isOver says whether Run has ended.
func (h *Host) isOver() bool {
	select {
	case <-h.succession.gone:
		return true
	default:
		return false
	}
}

// parted logs what went wrong with the end of a host of which everything was taken back.
func (h *Host) parted(err error) {
	if err != nil {
		h.log.Error("an end that was no good one", "error", err)
	}
}

func (h *Host) failed(why error) {
	h.log.Error("not upgraded: this server goes on", "error", why)
	h.outcome(upgrade.Outcome{PID: os.Getpid(), Error: why.Error()})
}

func (h *Host) succeeded(pid, kept, closed int) {
	h.log.Info("upgraded: another process goes on", "process", pid, "kept", kept, "closed", closed)
	h.outcome(upgrade.Outcome{PID: pid, Kept: kept, Closed: closed})
}

func (h *Host) outcome(o upgrade.Outcome) {
	o.At = time.Now()
	if err := o.Write(h.Config().Data); err != nil {
		h.log.Error("how the upgrade went could not be written down", "error", err)
	}
}
