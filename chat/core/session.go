package core

import (
	"errors"
	"slices"
	"time"

	"weir/chat/account"
	"weir/chat/environment"
	"weir/chat/internal/lobby"
	"weir/chat/irc"
)

// Session is the state machine of one connection. Its owner is the goroutine or event loop by which
// package serve calls it, or a task.
type Session struct {
	// Immutable.
	svc  *Core
	conn environment.Conn
	peer Peer

	caps              irc.Caps
	pendingMessages   int                    // its posts that are neither delivered nor refused
	postWhenDelivered bool                   // to be woken when no post is pending
	replayedBytes     int                    // replayed since the client had last read everything
	lobbyPlace        *lobby.Place[*Session] // nil once registered
	ownership         ownership
	outputLost        bool            // it has ended, and its last output may be lost
	user              *user           // nil before registration
	directs           []*conversation // direct conversations that it subscribes to
	monitored         []string        // folded nicks that it monitors
	directsResumption resumption
	directsGap        bool     // a direct conversation could not be opened when it resumed them
	deliveryStamp     uint64   // conversation.batchStamp of the last batch with a post of it
	deliveryLabeled   bool     // that batch has a labeled post of it
	metadataSubs      []string // metadata keys that it subscribes to
	killReason        string   // why the server closed its connection; "": it did not

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
	work          []work     // what the command still has to do, as a task
	task          *Task      // runs its work; nil: none
	multiline     *multiline // multiline message in progress; nil: none
	pace          *pace      // rate limit of its commands; nil: not yet looked up
	lastInputAt   time.Time  // last input, or the start of the connection
	// when the output queue was first found full; zero: it is not
	blockedSince time.Time
	endErr       error // why it ends, once its replies are sent; nil: it does not

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
	ownedByServe     ownership = iota // serve runs it: Input, Wake, Close
	ownedByTask                       // a task of it has paused: Wake does nothing but wait
	closedDuringTask                  // serve closed it: it ends after the task
)

// isActive reports whether the session has a user and its connection is open.
func (s *Session) isActive() bool { return s.user != nil && s.ownership != closedDuringTask }

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

func newSession(s *Core, c environment.Conn, p Peer) *Session {
	return &Session{svc: s, conn: c, peer: p, registration: new(irc.Registration), lastInputAt: s.now}
}

func (s *Session) has(c irc.Caps) bool { return s.caps.Has(c) }

// Turn is what a session asks of serve at the end of a call: output, and how it is called next.
type Turn struct {
	Output     []byte
	Buffer     []byte // memory that output may use; nil: none
	PauseInput bool
	WakeAt     time.Time // zero: as before
}

// Input handles input.
func (s *Session) Input(in []byte, r *Turn) error {
	if s.registration == nil { // before registration, time counts from the start of the connection
		s.lastInputAt = s.svc.now
		if s.liveness == pinged {
			livenessLife.move(&s.liveness, responsive)
		}
	}
	if len(s.unhandled) > 0 {
		s.unhandled = append(s.unhandled, in...)
		in = s.unhandled
	}
	return s.run(in, r)
}

// Wake handles a wake-up.
func (s *Session) Wake(now time.Time, r *Turn) error {
	if s.ownership != ownedByServe {
		r.PauseInput = true
		return nil
	}
	if s.endErr == nil && s.mustReconnect() {
		s.replies = append(s.replies, reconnectLine...)
		s.endErr = errConnectAgain
	}
	if s.endErr == nil && len(s.unhandled) > 0 && s.isBlocked(now, r) {
		return nil
	}
	if s.endErr == nil {
		s.checkLiveness(now, r)
	}
	if s.endErr == nil && len(s.unhandled) > 0 {
		return s.run(s.unhandled, r)
	}
	r.Output, s.replies = s.replies, nil // replies of a finished task
	return s.endErr
}

// replyFlushBytes is how many bytes of replies are sent before further commands run.
const replyFlushBytes = Outbox / 4

// isBlocked reports whether the output queue of the session is full, so that no more commands run.
// It schedules another check, and disconnects a client that has been blocked for too long.
func (s *Session) isBlocked(now time.Time, r *Turn) bool {
	takes := s.conn.Send(nil)
	if !takes {
		// a broken connection takes nothing, and has nothing to deliver
		takes, _ = s.conn.Delivered()
	}
	switch {
	case takes:
		s.blockedSince = time.Time{}
		return false
	case s.blockedSince.IsZero():
		s.blockedSince = now
	case now.Sub(s.blockedSince) > s.svc.Options().PingAfter:
		s.svc.closeSlow(s)
	}
	r.PauseInput = true
	r.WakeAt = now.Add(blockedRecheck)
	return true
}

// blockedRecheck is the time between two checks of a blocked session.
const blockedRecheck = 50 * time.Millisecond

// checkLiveness sends a PING to a silent client, and ends a session that does not answer it or does
// not register in time.
func (s *Session) checkLiveness(now time.Time, r *Turn) {
	// the client has sent commands that are held back
	if len(s.unhandled) > 0 && s.registration == nil {
		s.lastInputAt = now
	}
	limit := s.svc.Options().PingAfter
	if s.liveness == registering {
		limit = s.svc.Options().RegistrationTimeout
	} else if s.liveness == pinged {
		limit += limit / 2
	}
	if idle := now.Sub(s.lastInputAt); idle < limit {
		r.WakeAt = s.lastInputAt.Add(limit)
		return
	}
	if s.liveness == registering || s.liveness == pinged {
		s.replies = append(s.replies, "ERROR :Closing link (ping timeout)\r\n"...)
		s.endErr = errTimeout
		return
	}
	livenessLife.move(&s.liveness, pinged)
	s.replies = append(s.replies, "PING :"+s.svc.fixed.Name+"\r\n"...)
	r.WakeAt = s.lastInputAt.Add(limit + limit/2)
}

var errTimeout = errors.New("chat: ping timeout")

// run handles the lines in in, and keeps those that must wait.
func (s *Session) run(in []byte, r *Turn) error {
	s.replies = append(r.Buffer[:0], s.replies...)
	held := false
	for s.endErr == nil && s.task == nil {
		// the rest waits until these replies are on their way
		if held = len(in) > 0 && len(s.replies) > replyFlushBytes; held {
			s.conn.Post()
			break
		}
		line, rest, whole, err := s.splitter.Next(in)
		if !whole {
			in = rest
			break
		}
		if held = !s.handleLine(line, err, r); held {
			break
		}
		in = rest
	}
	r.PauseInput = held || s.task != nil
	s.keepUnhandled(in)
	if s.task != nil {
		s.leaveToTask(r)
		return nil
	}
	r.Output, s.replies = s.replies, nil
	if s.liveness == justRegistered && !held { // otherwise a wake-up is due and sets the timer
		livenessLife.move(&s.liveness, responsive)
		r.WakeAt = s.lastInputAt.Add(s.svc.Options().PingAfter)
	}
	return s.endErr
}

// leaveToTask sends the replies of the earlier commands, and leaves those of the current command to
// its task.
func (s *Session) leaveToTask(r *Turn) {
	out := s.replies
	// not by the turn's output, because the task's replies must follow
	if s.replyStart > 0 && !s.conn.Send(out[:s.replyStart]) {
		s.svc.closeSlow(s)
	}
	s.replies, s.replyStart = slices.Clone(out[s.replyStart:]), 0
	r.Output = out[:0]
}

// keepUnhandled keeps the rest of the input.
func (s *Session) keepUnhandled(in []byte) {
	if len(in) == 0 {
		s.unhandled = nil
		return
	}
	s.unhandled = append(s.unhandled[:0:0], in...)
}

// handleLine handles a line. It reports whether it did: otherwise the line must wait for
// undelivered messages, for the rate limit or for the end of a freeze.
func (s *Session) handleLine(line []byte, err error, r *Turn) bool {
	var m irc.Message
	if err == nil {
		m, err = irc.Parse(line)
	}
	if err != irc.ErrEmpty && !s.canRun(&m) {
		return false
	}
	if wait := s.throttleWait(&m); wait > 0 {
		r.WakeAt = s.svc.now.Add(wait)
		return false
	}
	if err == irc.ErrEmpty {
		return true
	}
	if s.svc.holdIfFrozen(s) {
		return false
	}
	if err != nil {
		s.replyParseError(err)
		return true
	}
	s.runCommand(&m)
	return true
}

// canRun reports whether the next command may run. While messages are undelivered, only another
// message to the same target may, so that replies keep their order.
func (s *Session) canRun(m *irc.Message) bool {
	n := s.pendingMessages
	if n == 0 || n < maxPendingMessages && s.continuesPending(m) {
		return true
	}
	s.postWhenDelivered = true // finishPosts wakes the session
	return false
}

// continuesPending reports whether a command is a message to the target of the undelivered
// messages.
func (s *Session) continuesPending(m *irc.Message) bool {
	if m.Command != "PRIVMSG" && m.Command != "NOTICE" && (m.Command != "BATCH" || s.multiline == nil) {
		return false
	}
	return s.multiline != nil || s.pendingTarget != "" && irc.Fold(irc.Param(m, 0)) == s.pendingTarget
}

// throttleWait returns how long a command must wait for the rate limit.
func (s *Session) throttleWait(m *irc.Message) time.Duration {
	perSecond := s.svc.Options().CommandsPerSecond
	if perSecond < 0 || s.peer.isLocal() && s.login.Account == nil || irc.Commands[m.Command].Free {
		return 0
	}
	if s.pace == nil {
		s.pace = s.svc.paceOf(s)
	}
	wait := s.pace.wait(s.svc.now, perSecond)
	if wait > 0 {
		s.svc.counts.Throttled++
	}
	return wait
}

// charge counts a command as n more, for example because it names several rooms.
func (s *Session) charge(n int) {
	if s.pace != nil && n > 0 && s.svc.Options().CommandsPerSecond > 0 {
		s.pace.charge(s.svc.now, s.svc.Options().CommandsPerSecond, n)
	}
}

// itemsPerCommand is how many users or rooms a command may examine, or sessions notify, before it
// counts as one more.
const itemsPerCommand = 256

// chargeItems counts a command as more if it examines many users or rooms, or notifies many
// sessions.
func (s *Session) chargeItems(n int) { s.charge(n / itemsPerCommand) }

// work is what a command does that takes several steps.
type work struct {
	pool JobPool
	run  func()
}

// startTask lets the current command continue as a task, which may await jobs and events by s.task.
// The command ends after it. A task that calls it continues with that work.
func (s *Session) startTask(run func()) { s.work = append(s.work, work{OrdinaryJobs, run}) }

// runWork starts the task of the current command. The session's serve goroutine does not
// touch the session until the task has ended.
func (s *Session) runWork() {
	s.svc.StartTask(s.work[0].pool, func(t *Task) {
		s.task = t
		for len(s.work) > 0 {
			next := s.work[0]
			s.work = s.work[1:]
			next.run()
		}
		s.finishCommand()
		s.leaveTask()
	}, s.abandonTask)
	if s.task != nil {
		ownershipLife.move(&s.ownership, ownedByTask)
	}
}

// leaveTask returns the session to its serve goroutine.
func (s *Session) leaveTask() {
	s.task, s.work = nil, nil
	switch s.ownership {
	case ownedByServe: // the task has not paused
		return
	case closedDuringTask:
		s.depart(ConnectionBroke)
	case ownedByTask:
		ownershipLife.move(&s.ownership, ownedByServe)
		s.sendTaskReplies()
	}
	s.conn.Post()
}

// sendTaskReplies sends the replies of a task that has ended, before anything that follows from it.
// If the queue has no room for them, or the session ends, they are left to the next wake-up.
func (s *Session) sendTaskReplies() {
	if s.endErr == nil && len(s.replies) > 0 && s.conn.Send(s.replies) {
		s.replies = nil
	}
}

// abandonTask ends a session whose task panicked or was stopped.
func (s *Session) abandonTask(reason error) {
	s.svc.fixed.Log.Error("a command was aborted", "error", reason)
	s.endErr = reason
	s.leaveTask()
}

// CloseCause is why serve closes a session.
type CloseCause uint8

const (
	ConnectionBroke CloseCause = iota
	SessionEnded               // by its own error: endErr
	ClientClosed               // the client has closed the connection
	ServerStops
)

// Close ends the session, or lets its task end first.
func (s *Session) Close(cause CloseCause) {
	if s.ownership != ownedByServe {
		ownershipLife.move(&s.ownership, closedDuringTask)
		return
	}
	s.depart(cause)
}

// depart ends the session.
func (s *Session) depart(cause CloseCause) {
	if s.svc.frozenSessions != nil {
		s.svc.deferredDepartures = append(s.svc.deferredDepartures, departure{s, cause})
		return
	}
	if s.user == nil {
		s.svc.unregisteredCount--
		s.svc.lobby.Leave(s.lobbyPlace)
	} else {
		s.outputLost = !s.isOrderlyEnd(cause)
		s.svc.detach(s, s.quitMessage(cause))
	}
	s.svc.uncountSession(s.peer)
}

// EndedWith reports whether the session has ended by itself with an error.
func (s *Session) EndedWith(err error) bool { return s.endErr != nil && errors.Is(err, s.endErr) }

// isOrderlyEnd reports whether the client of a session that has ended received all of its output:
// it was connected when it ended by its own command. When it has closed the connection, or the
// server stops, it may have been gone for a while; then all must be acknowledged.
func (s *Session) isOrderlyEnd(cause CloseCause) bool {
	var q *quitError
	if cause == ClientClosed || cause == ServerStops {
		_, acknowledged := s.conn.Delivered()
		return acknowledged
	}
	return cause == SessionEnded && (errors.As(s.endErr, &q) || errors.Is(s.endErr, errConnectAgain))
}

// quitError ends a session by QUIT or by the server, with the message to others.
type quitError struct{ message string }

func (q *quitError) Error() string { return "chat: quit" }

// quitMessage returns the message that others receive when the session ends.
func (s *Session) quitMessage(cause CloseCause) string {
	var q *quitError
	switch {
	case s.killReason != "":
		return s.killReason
	case errors.As(s.endErr, &q):
		return q.message
	case errors.Is(s.endErr, errTimeout):
		return "Ping timeout"
	case cause == ServerStops:
		return "The server is stopping"
	case cause == ClientClosed:
		return "Connection closed"
	}
	return "Connection lost"
}
