package chat

import (
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/chat/account"
	"weir/chat/internal/lobby"
	"weir/chat/irc"
	"weir/flow"
	"weir/serve"
)

// session is one connection: a serve.Session. Its owner is who serve calls it by, and the desk
// while it is busy.
type session struct {
	// Immutable.
	svc  *Service
	conn serve.Conn
	peer Peer

	// Shared.
	caps     atomic.Uint64 // irc.Caps; written by the owner
	pending  atomic.Int32  // messages under way
	waiting  atomic.Bool   // deliver is to Post when none is
	replayed atomic.Int64  // bytes, since it had taken all that it was sent

	// Guarded by Service.mu.
	place      *lobby.Place[*session]
	busy, gone bool // the desk has it; it was closed meanwhile, and the desk sees to its end
	lost       bool // it has ended, and may have lost what it was sent last
	user       *user
	direct     []*feed // that it has a seat at, besides rooms
	monitors   []string
	resumed    resumption
	said       uint64   // the delivery that it has a part in
	labeled    bool     // and with a label
	subs       []string // keys of metadata that it wants to hear of
	killed     string   // why an operator ended it

	// Owned by the owner.
	split    irc.Splitter
	in       []byte            // what was read and not yet handled; nil while idle
	reg      *irc.Registration // nil once registered
	sasl     *exchange         // an AUTHENTICATE under way
	login    account.Login     // who it has proven to be
	failures int               // logins that were refused
	away     string            // said before there was a user
	// folded: that all pending messages are for; "": another place, or several
	lastRoom string
	job      func()     // for the desk
	seeks    bool       // the job is a search, for the searchers
	multi    *multiline // a BATCH under way
	pace     *pace      // its share of commands
	heard    time.Time  // when it last said something
	fresh    bool       // it has registered, and is still to be woken as one that has not
	asked    bool       // and was asked since
	// since when its client has taken too little for it to go on; zero: it goes on
	stuffed  time.Time
	over     error // why it ends, once its replies are sent
	launched bool  // some of the input went on its way to a log

	// The command under way.
	out    []byte // replies; nil while idle
	label  string
	from   int    // where its replies begin in out
	batch  string // the labeled batch that was begun; "" for none
	later  bool   // deliver sends its reply
	behind []byte // what the session is told by the command besides its replies; nil: nothing
}

func newSession(s *Service, c serve.Conn, p Peer) *session {
	return &session{svc: s, conn: c, peer: p, reg: new(irc.Registration), heard: s.o.Now()}
}

func (s *session) capSet() irc.Caps { return irc.Caps(s.caps.Load()) }

func (s *session) has(c irc.Caps) bool { return s.capSet().Has(c) }

// buffers are for replies and for what a session could not handle yet: idle sessions have none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// Input implements serve.Session.
func (s *session) Input(in []byte, w *serve.Writer) error {
	if s.reg == nil { // otherwise it counts from the connection's begin
		s.heard, s.asked = s.svc.o.Now(), false
	}
	if len(s.in) > 0 {
		s.in = append(s.in, in...)
		in = s.in
	}
	return s.run(in, w)
}

// Wake implements serve.Session: it goes on after a hold, and looks whether the client is alive.
func (s *session) Wake(now time.Time, w *serve.Writer) error {
	busy, leaves := s.standing()
	if busy {
		w.PauseInput()
		return nil
	}
	if s.over == nil && leaves {
		s.out = append(s.out, reconnect...)
		s.over = errUpgrade
	}
	if s.over == nil && len(s.in) > 0 && s.isStuffed(now, w) {
		return nil
	}
	if s.over == nil {
		s.alive(now, w)
	}
	if s.over == nil && len(s.in) > 0 {
		return s.run(s.in, w)
	}
	w.Write(s.out) // from the desk
	s.out = nil
	return s.over
}

// standing says whether the desk has the session, and whether it has to go: see Service.Dismiss.
func (s *session) standing() (busy, leaves bool) {
	s.svc.mu.Lock()
	defer s.svc.mu.Unlock()
	return s.busy, s.leaves()
}

// enoughOut is how many bytes of replies are sent before further commands are run.
const enoughOut = Outbox / 4

// isStuffed says whether more than Outbox waits for a client that has asked for still more. It is
// asked again soon; who takes too little for too long is too slow.
func (s *session) isStuffed(now time.Time, w *serve.Writer) bool {
	takes := s.conn.Send(nil)
	if !takes {
		// a connection that is broken takes nothing, and nothing waits for it
		takes, _ = serve.Delivered(s.conn)
	}
	switch {
	case takes:
		s.stuffed = time.Time{}
		return false
	case s.stuffed.IsZero():
		s.stuffed = now
	case now.Sub(s.stuffed) > s.svc.opts().Alive:
		s.svc.tooSlow(s)
	}
	w.PauseInput()
	w.WakeAt(now.Add(stuffedFor))
	return true
}

// stuffedFor is how long a client that has taken too little is given before it is looked at again.
const stuffedFor = 50 * time.Millisecond

// alive asks a client that says nothing, and ends one that does not answer, or does not register.
func (s *session) alive(now time.Time, w *serve.Writer) {
	if len(s.in) > 0 && s.reg == nil { // it has spoken, and we are slow
		s.heard = now
	}
	limit := s.svc.opts().Alive
	if s.reg != nil {
		limit = s.svc.opts().Begin
	} else if s.asked {
		limit += limit / 2
	}
	if idle := now.Sub(s.heard); idle < limit {
		w.WakeAt(s.heard.Add(limit))
		return
	}
	if s.reg != nil || s.asked {
		s.out = append(s.out, "ERROR :Closing link (ping timeout)\r\n"...)
		s.over = errTimeout
		return
	}
	s.asked = true
	s.out = append(s.out, "PING :"+s.svc.o.Name+"\r\n"...)
	w.WakeAt(s.heard.Add(limit + limit/2))
}

var errTimeout = errors.New("chat: ping timeout")

// run handles the lines in in, and keeps what it cannot handle yet.
func (s *session) run(in []byte, w *serve.Writer) error {
	buffer := buffers.Get().(*[]byte)
	s.out = append((*buffer)[:0], s.out...)
	held := false
	for s.over == nil && s.job == nil {
		// the rest waits until this is on its way
		if held = len(in) > 0 && len(s.out) > enoughOut; held {
			w.PauseInput()
			s.conn.Post()
			break
		}
		line, rest, whole, err := s.split.Next(in)
		if !whole {
			in = rest
			break
		}
		if held = !s.step(line, err, w); held {
			w.PauseInput()
			break
		}
		in = rest
	}
	s.keep(in)
	// who commits it is woken here and now: another thread would find that goroutine only after 60
	// us
	if s.launched {
		s.launched = false
		runtime.Gosched()
	}
	out := s.out
	if s.out = nil; s.job != nil {
		// not by w: what the desk sends comes behind it
		if s.from > 0 && !s.conn.Send(out[:s.from]) {
			s.svc.tooSlow(s)
		}
		s.out, s.from = slices.Clone(out[s.from:]), 0
	} else {
		w.Write(out)
	}
	if cap(out) <= 64<<10 {
		*buffer = out[:0]
		buffers.Put(buffer)
	}
	if s.job == nil {
		if s.fresh && !held { // otherwise it is woken for its turn, and says then
			s.fresh = false
			w.WakeAt(s.heard.Add(s.svc.opts().Alive))
		}
		return s.over
	}
	w.PauseInput()
	s.toDesk()
	return nil
}

// keep keeps what is left of the input.
func (s *session) keep(in []byte) {
	if len(in) == 0 {
		s.in = nil
		return
	}
	s.in = append(s.in[:0:0], in...)
}

// step handles a line. It reports false when it has to wait: for messages before it, or for its
// turn.
func (s *session) step(line []byte, err error, w *serve.Writer) bool {
	var m irc.Message
	if err == nil {
		m, err = irc.Parse(line)
	}
	if err == irc.ErrEmpty {
		return true
	}
	if !s.mayGoOn(&m) {
		return false
	}
	if wait := s.turn(&m); wait > 0 {
		w.WakeAt(s.svc.o.Now().Add(wait))
		return false
	}
	ran := true
	launched := s.svc.locked(func() {
		switch {
		case s.svc.freezes(s):
			ran = false
		case err != nil:
			s.misread(err)
		default:
			s.command(&m)
		}
		if s.job != nil {
			s.svc.jobs++
		}
	})
	s.launched = s.launched || launched
	return ran
}

// mayGoOn says whether a command may be run now: behind messages that are not yet delivered only
// another to the same place may.
func (s *session) mayGoOn(m *irc.Message) bool {
	n := s.pending.Load()
	if n == 0 || n < pendingLines && s.follows(m) {
		return true
	}
	s.waiting.Store(true)
	return s.pending.Load() == 0 && s.waiting.Swap(false) // or deliver posts
}

// follows says whether a command is a message to where those under way go.
func (s *session) follows(m *irc.Message) bool {
	if m.Command != "PRIVMSG" && m.Command != "NOTICE" && (m.Command != "BATCH" || s.multi == nil) {
		return false
	}
	return s.multi != nil || s.lastRoom != "" && irc.Fold(irc.Param(m, 0)) == s.lastRoom
}

// turn is how long a command has to wait because there were too many before it.
func (s *session) turn(m *irc.Message) time.Duration {
	perSecond := s.svc.opts().Flood
	if perSecond < 0 || s.peer.local() && s.login.Account == nil || irc.Commands[m.Command].Free {
		return 0
	}
	if s.pace == nil {
		s.pace = s.svc.paceOf(s)
	}
	wait := s.pace.wait(s.svc.o.Now(), perSecond)
	if wait > 0 {
		s.svc.counts.throttled.Add(1)
	}
	return wait
}

// charge counts a command as n more: it names so many rooms or users.
func (s *session) charge(n int) {
	if s.pace != nil && n > 0 && s.svc.opts().Flood > 0 {
		s.pace.charge(s.svc.o.Now(), s.svc.opts().Flood, n)
	}
}

// slow has the desk do what may take time. It runs without Service.mu, with the session all its
// own; the command under way ends with it.
func (s *session) slow(job func()) {
	if first := s.job; first != nil {
		s.job = func() { first(); job() }
	} else {
		s.job = job
	}
}

// toDesk hands the session to the desk. Its owner does not touch it until it is woken.
func (s *session) toDesk() {
	s.svc.mu.Lock()
	s.busy = true
	s.svc.mu.Unlock()
	desk := s.svc.desk
	if s.seeks {
		desk, s.seeks = s.svc.searchers, false
	}
	if desk.Put([]*session{s}) == 0 {
		abandoned(s, errStopping)
	}
}

// atDesk is the desk's stage.
func atDesk(s *session, _ *flow.Out[*session]) {
	if s == nil { // Open asks whether the net runs
		return
	}
	for s.job != nil {
		job := s.job
		s.job = nil
		job()
	}
	s.svc.mu.Lock()
	s.finish()
	s.leaveDesk()
}

// leaveDesk gives the session back. The caller holds the lock, and has it no more.
func (s *session) leaveDesk() {
	s.busy = false
	s.svc.jobs--
	if s.gone {
		s.depart(net.ErrClosed)
	}
	s.svc.unlock()
	s.conn.Post()
}

// abandoned ends a session whose job panicked, or that no desk takes.
func abandoned(s *session, why error) {
	if s == nil {
		return
	}
	s.svc.o.Log.Error("a command was given up", "error", why)
	s.svc.mu.Lock()
	s.job, s.over = nil, why
	s.leaveDesk()
}

// Close implements serve.Session.
func (s *session) Close(err error) {
	s.svc.mu.Lock()
	defer s.svc.unlock()
	if s.busy {
		s.gone = true
		return
	}
	s.depart(err)
}

// depart is the session's end. The caller holds the lock.
func (s *session) depart(err error) {
	if s.svc.frozen != nil {
		s.svc.departed = append(s.svc.departed, departure{s, err})
		return
	}
	if s.user == nil {
		s.svc.unknown--
		s.svc.waiting.Leave(s.place)
	} else {
		s.lost = !orderly(err)
		s.svc.bid(s, s.lastWords(err))
	}
	s.svc.dismiss(s.peer)
}

// orderly says whether a session ended while its client was still there: by what that said, or by a
// stop.
func orderly(err error) bool {
	var q *quitting
	return errors.As(err, &q) || errors.Is(err, io.EOF) || errors.Is(err, serve.ErrStopped) || errors.Is(err, errUpgrade)
}

// quitting is the error of an end by QUIT, or by an operator, with what the others are told.
type quitting struct{ words string }

func (q *quitting) Error() string { return "chat: quit" }

// lastWords is what others are told of the session's end.
func (s *session) lastWords(err error) string {
	var q *quitting
	switch {
	case s.killed != "":
		return s.killed
	case errors.As(s.over, &q):
		return q.words
	case errors.Is(s.over, errTimeout):
		return "Ping timeout"
	case errors.Is(err, serve.ErrStopped):
		return "The server is stopping"
	case errors.Is(err, io.EOF):
		return "Connection closed"
	}
	return "Connection lost"
}
