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

// session is the state machine of one connection: a serve.Session. Its owner is the goroutine or
// event loop by which serve calls it, or a worker while it has a job.
type session struct {
	// Immutable.
	svc  *Service
	conn serve.Conn
	peer Peer

	// Atomic: shared by the owner and the commit stages.
	caps              atomic.Uint64 // irc.Caps; only the owner writes them
	pendingMessages   atomic.Int32  // its posts that are neither delivered nor refused
	postWhenDelivered atomic.Bool   // finishPosts must wake the session when no post is pending
	replayedBytes     atomic.Int64  // replayed since the client had last read everything

	// Guarded by Service.mu.
	lobbyPlace        *lobby.Place[*session] // nil once registered
	ownership         ownership
	outputLost        bool            // it has ended, and its last output may be lost
	user              *user           // nil before registration
	directs           []*conversation // direct conversations that it subscribes to
	monitored         []string        // folded nicks that it monitors
	directsResumption resumption
	deliveryStamp     uint64   // conversation.batchStamp of the last batch with a post of it
	deliveryLabeled   bool     // that batch has a labeled post of it
	metadataSubs      []string // metadata keys that it subscribes to
	killReason        string   // why the server closed its connection; "": it did not

	// Used by the owner only.
	splitter     irc.Splitter
	unhandled    []byte            // input that must wait; nil: none
	registration *irc.Registration // nil once registered
	liveness     liveness
	sasl         *saslExchange // SASL exchange in progress; nil: none
	login        account.Login // account that it has logged in to; zero: none
	failedLogins int
	preAway      string // away message from before registration; "": none
	// folded room that all pending posts are for; "": another target, or several
	pendingTarget string
	job           func()     // job for the worker pool; nil: none
	jobIsSearch   bool       // the job is for the search workers
	multiline     *multiline // multiline message in progress; nil: none
	pace          *pace      // rate limit of its commands; nil: not yet looked up
	lastInputAt   time.Time  // last input, or the start of the connection
	// when the output queue was first found full; zero: it is not
	blockedSince   time.Time
	endErr         error // why it ends, once its replies are sent; nil: it does not
	committedInput bool  // a command put a conversation into the commit net

	// The current command.
	replies       []byte // replies to send; nil while idle
	label         string // label of the command; "": none, or already used
	replyStart    int    // where the command's replies start
	replyBatch    string // id of the labeled batch in progress; "": none
	deferredReply bool   // the delivery of a post is the reply
	afterReplies  []byte // lines to send behind the replies; nil: none
}

// ownership says what runs a session.
type ownership uint8

const (
	ownedByServe    ownership = iota // serve runs it: Input, Wake, Close
	ownedByWorker                    // a worker runs its job: Wake does nothing but wait
	closedDuringJob                  // serve closed it: the worker ends it after the job
)

// isActiveLocked reports whether the session has a user and its connection is open. The caller
// holds mu.
func (s *session) isActiveLocked() bool { return s.user != nil && s.ownership != closedDuringJob }

// liveness is the state of the timer by which silent connections are closed.
type liveness uint8

const (
	// registering: it is closed after Options.RegistrationTimeout.
	registering liveness = iota
	// justRegistered: the timer is still that of registration and must be set anew.
	justRegistered
	// responsive: it is sent a PING after Options.PingAfter without input.
	responsive
	// pinged: it is closed after half of Options.PingAfter without input.
	pinged
)

func newSession(s *Service, c serve.Conn, p Peer) *session {
	return &session{svc: s, conn: c, peer: p, registration: new(irc.Registration), lastInputAt: s.fixed.Now()}
}

func (s *session) capSet() irc.Caps { return irc.Caps(s.caps.Load()) }

func (s *session) has(c irc.Caps) bool { return s.capSet().Has(c) }

// buffers holds buffers for replies, so that idle sessions have none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// Input implements serve.Session.
func (s *session) Input(in []byte, w *serve.Writer) error {
	if s.registration == nil { // before registration, time counts from the start of the connection
		s.lastInputAt = s.svc.fixed.Now()
		if s.liveness == pinged {
			s.liveness = responsive
		}
	}
	if len(s.unhandled) > 0 {
		s.unhandled = append(s.unhandled, in...)
		in = s.unhandled
	}
	return s.run(in, w)
}

// Wake implements serve.Session. It continues with held-back input and checks whether the client is
// alive.
func (s *session) Wake(now time.Time, w *serve.Writer) error {
	busy, mustReconnect := s.ownerState()
	if busy {
		w.PauseInput()
		return nil
	}
	if s.endErr == nil && mustReconnect {
		s.replies = append(s.replies, reconnectLine...)
		s.endErr = errConnectAgain
	}
	if s.endErr == nil && len(s.unhandled) > 0 && s.isBlocked(now, w) {
		return nil
	}
	if s.endErr == nil {
		s.checkLiveness(now, w)
	}
	if s.endErr == nil && len(s.unhandled) > 0 {
		return s.run(s.unhandled, w)
	}
	w.Write(s.replies) // replies of a finished job
	s.replies = nil
	return s.endErr
}

// ownerState reports whether a worker owns the session, and whether it must reconnect: see
// Service.DisconnectUnmovable.
func (s *session) ownerState() (busy, mustReconnect bool) {
	s.svc.mu.Lock()
	defer s.svc.mu.Unlock()
	return s.ownership != ownedByServe, s.mustReconnectLocked()
}

// replyFlushBytes is how many bytes of replies are sent before further commands run.
const replyFlushBytes = Outbox / 4

// isBlocked reports whether the output queue of the session is full, so that no more commands run.
// It schedules another check, and disconnects a client that has been blocked for too long.
func (s *session) isBlocked(now time.Time, w *serve.Writer) bool {
	takes := s.conn.Send(nil)
	if !takes {
		// a broken connection takes nothing, and has nothing to deliver
		takes, _ = serve.Delivered(s.conn)
	}
	switch {
	case takes:
		s.blockedSince = time.Time{}
		return false
	case s.blockedSince.IsZero():
		s.blockedSince = now
	case now.Sub(s.blockedSince) > s.svc.options().PingAfter:
		s.svc.closeSlow(s)
	}
	w.PauseInput()
	w.WakeAt(now.Add(blockedRecheck))
	return true
}

// blockedRecheck is the time between two checks of a blocked session.
const blockedRecheck = 50 * time.Millisecond

// checkLiveness sends a PING to a silent client, and ends a session that does not answer it or does
// not register in time.
func (s *session) checkLiveness(now time.Time, w *serve.Writer) {
	// the client has sent commands that are held back
	if len(s.unhandled) > 0 && s.registration == nil {
		s.lastInputAt = now
	}
	limit := s.svc.options().PingAfter
	if s.liveness == registering {
		limit = s.svc.options().RegistrationTimeout
	} else if s.liveness == pinged {
		limit += limit / 2
	}
	if idle := now.Sub(s.lastInputAt); idle < limit {
		w.WakeAt(s.lastInputAt.Add(limit))
		return
	}
	if s.liveness == registering || s.liveness == pinged {
		s.replies = append(s.replies, "ERROR :Closing link (ping timeout)\r\n"...)
		s.endErr = errTimeout
		return
	}
	s.liveness = pinged
	s.replies = append(s.replies, "PING :"+s.svc.fixed.Name+"\r\n"...)
	w.WakeAt(s.lastInputAt.Add(limit + limit/2))
}

var errTimeout = errors.New("chat: ping timeout")

// run handles the lines in in, and keeps those that must wait.
func (s *session) run(in []byte, w *serve.Writer) error {
	buffer := buffers.Get().(*[]byte)
	s.replies = append((*buffer)[:0], s.replies...)
	held := false
	for s.endErr == nil && s.job == nil {
		// the rest waits until these replies are on their way
		if held = len(in) > 0 && len(s.replies) > replyFlushBytes; held {
			w.PauseInput()
			s.conn.Post()
			break
		}
		line, rest, whole, err := s.splitter.Next(in)
		if !whole {
			in = rest
			break
		}
		if held = !s.handleLine(line, err, w); held {
			w.PauseInput()
			break
		}
		in = rest
	}
	s.keepUnhandled(in)
	// Yield to the goroutine that commits: another thread would find it only after 60 us.
	if s.committedInput {
		s.committedInput = false
		runtime.Gosched()
	}
	out := s.replies
	if s.replies = nil; s.job != nil {
		// not by w, because the job's replies must follow
		if s.replyStart > 0 && !s.conn.Send(out[:s.replyStart]) {
			s.svc.closeSlow(s)
		}
		s.replies, s.replyStart = slices.Clone(out[s.replyStart:]), 0
	} else {
		w.Write(out)
	}
	if cap(out) <= 64<<10 {
		*buffer = out[:0]
		buffers.Put(buffer)
	}
	if s.job == nil {
		if s.liveness == justRegistered && !held { // otherwise a wake-up is due and sets the timer
			s.liveness = responsive
			w.WakeAt(s.lastInputAt.Add(s.svc.options().PingAfter))
		}
		return s.endErr
	}
	w.PauseInput()
	s.queueJob()
	return nil
}

// keepUnhandled keeps the rest of the input.
func (s *session) keepUnhandled(in []byte) {
	if len(in) == 0 {
		s.unhandled = nil
		return
	}
	s.unhandled = append(s.unhandled[:0:0], in...)
}

// handleLine handles a line. It reports whether it did: otherwise the line must wait for
// undelivered messages or for the rate limit.
func (s *session) handleLine(line []byte, err error, w *serve.Writer) bool {
	var m irc.Message
	if err == nil {
		m, err = irc.Parse(line)
	}
	if err == irc.ErrEmpty {
		return true
	}
	if !s.canRun(&m) {
		return false
	}
	if wait := s.throttleWait(&m); wait > 0 {
		w.WakeAt(s.svc.fixed.Now().Add(wait))
		return false
	}
	ran := true
	committed := s.svc.withLock(func() {
		switch {
		case s.svc.holdIfFrozenLocked(s):
			ran = false
		case err != nil:
			s.replyParseError(err)
		default:
			s.runCommandLocked(&m)
		}
		if s.job != nil {
			s.svc.unfinishedJobs++
		}
	})
	s.committedInput = s.committedInput || committed
	return ran
}

// canRun reports whether the next command may run. While messages are undelivered, only another
// message to the same target may, so that replies keep their order.
func (s *session) canRun(m *irc.Message) bool {
	n := s.pendingMessages.Load()
	if n == 0 || n < maxPendingMessages && s.continuesPending(m) {
		return true
	}
	s.postWhenDelivered.Store(true)
	// otherwise finishPosts wakes the session
	return s.pendingMessages.Load() == 0 && s.postWhenDelivered.Swap(false)
}

// continuesPending reports whether a command is a message to the target of the undelivered
// messages.
func (s *session) continuesPending(m *irc.Message) bool {
	if m.Command != "PRIVMSG" && m.Command != "NOTICE" && (m.Command != "BATCH" || s.multiline == nil) {
		return false
	}
	return s.multiline != nil || s.pendingTarget != "" && irc.Fold(irc.Param(m, 0)) == s.pendingTarget
}

// throttleWait returns how long a command must wait for the rate limit.
func (s *session) throttleWait(m *irc.Message) time.Duration {
	perSecond := s.svc.options().CommandsPerSecond
	if perSecond < 0 || s.peer.isLocal() && s.login.Account == nil || irc.Commands[m.Command].Free {
		return 0
	}
	if s.pace == nil {
		s.pace = s.svc.paceOf(s)
	}
	wait := s.pace.wait(s.svc.fixed.Now(), perSecond)
	if wait > 0 {
		s.svc.counters.throttled.Add(1)
	}
	return wait
}

// charge counts a command as n more, for example because it names several rooms.
func (s *session) charge(n int) {
	if s.pace != nil && n > 0 && s.svc.options().CommandsPerSecond > 0 {
		s.pace.charge(s.svc.fixed.Now(), s.svc.options().CommandsPerSecond, n)
	}
}

// startJob gives a slow function to the worker pool. It runs without mu, while the worker owns the
// session. The current command ends after it.
func (s *session) startJob(job func()) {
	if first := s.job; first != nil {
		s.job = func() { first(); job() }
	} else {
		s.job = job
	}
}

// queueJob gives the session to the worker pool. Its serve goroutine does not touch it until it is
// woken.
func (s *session) queueJob() {
	s.svc.mu.Lock()
	s.ownership = ownedByWorker
	s.svc.mu.Unlock()
	pool := s.svc.workers
	if s.jobIsSearch {
		pool, s.jobIsSearch = s.svc.searchWorkers, false
	}
	if pool.Put([]*session{s}) == 0 {
		abandonJob(s, errStopping)
	}
}

// runJobs is the stage of the worker pools.
func runJobs(s *session, _ *flow.Out[*session]) {
	if s == nil { // startGoroutines probes whether the net runs
		return
	}
	for s.job != nil {
		job := s.job
		s.job = nil
		job()
	}
	s.svc.mu.Lock()
	s.finishCommand()
	s.leaveWorkerAndUnlock()
}

// leaveWorkerAndUnlock returns the session to its serve goroutine. The caller has locked mu, which
// it releases.
func (s *session) leaveWorkerAndUnlock() {
	s.svc.unfinishedJobs--
	if s.ownership == closedDuringJob {
		s.departLocked(net.ErrClosed)
	} else {
		s.ownership = ownedByServe
	}
	s.svc.unlockAndCommit()
	s.conn.Post()
}

// abandonJob ends a session whose job panicked or was not accepted.
func abandonJob(s *session, reason error) {
	if s == nil {
		return
	}
	s.svc.fixed.Log.Error("a command was aborted", "error", reason)
	s.svc.mu.Lock()
	s.job, s.endErr = nil, reason
	s.leaveWorkerAndUnlock()
}

// Close implements serve.Session.
func (s *session) Close(err error) {
	s.svc.mu.Lock()
	defer s.svc.unlockAndCommit()
	if s.ownership != ownedByServe {
		s.ownership = closedDuringJob
		return
	}
	s.departLocked(err)
}

// departLocked ends the session. The caller holds mu.
func (s *session) departLocked(err error) {
	if s.svc.frozenSessions != nil {
		s.svc.deferredDepartures = append(s.svc.deferredDepartures, departure{s, err})
		return
	}
	if s.user == nil {
		s.svc.unregisteredCount--
		s.svc.lobby.Leave(s.lobbyPlace)
	} else {
		s.outputLost = !s.isOrderlyEnd(err)
		s.svc.detachLocked(s, s.quitMessage(err))
	}
	s.svc.uncountSession(s.peer)
}

// isOrderlyEnd reports whether the client of a session that has ended received all of its output:
// it was connected when it ended by its own command. When it has closed the connection, or the
// server stops, it may have been gone for a while; then all must be acknowledged.
func (s *session) isOrderlyEnd(err error) bool {
	var q *quitError
	if errors.Is(err, io.EOF) || errors.Is(err, serve.ErrStopped) {
		_, acknowledged := serve.Delivered(s.conn)
		return acknowledged
	}
	return errors.As(err, &q) || errors.Is(err, errConnectAgain)
}

// quitError ends a session by QUIT or by the server, with the message to others.
type quitError struct{ message string }

func (q *quitError) Error() string { return "chat: quit" }

// quitMessage returns the message that others receive when the session ends.
func (s *session) quitMessage(err error) string {
	var q *quitError
	switch {
	case s.killReason != "":
		return s.killReason
	case errors.As(s.endErr, &q):
		return q.message
	case errors.Is(s.endErr, errTimeout):
		return "Ping timeout"
	case errors.Is(err, serve.ErrStopped):
		return "The server is stopping"
	case errors.Is(err, io.EOF):
		return "Connection closed"
	}
	return "Connection lost"
}
