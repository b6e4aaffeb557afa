package core

import (
	"errors"
	"maps"
	"slices"
	"time"

	"weir/chat/environment"
	"weir/chat/irc"
)

// A service hands over to another, usually in a new process, which continues with the same clients
// and the same data directory:
//
//  1. Freeze holds all commands back and waits until all posts are stored and delivered and the
//     workers are idle. Thaw undoes it.
//  2. DisconnectUnmovable asks the clients whose connections cannot be handed over (package serve
//     decides), or all clients, to reconnect, and closes their connections.
//  3. The runs of sessions hand over (serve.ErrHandover). EncodeState returns the state of the
//     service itself.
//  4. Close. The caller of DuplicateLock keeps the lock of the data directory and hands it over, so
//     that no other server can take it meanwhile.
//  5. Resume opens the same data directory with that lock and state. Its runs start with the
//     connections. The service is frozen until the last of them has been adopted, so that all
//     clients receive later messages. Users whose sessions did not arrive have quit.
//
// No message is handled twice: it is accepted before the freeze by the first service, or after the
// last adoption by the second.

// ErrFreezeTimeout reports that a freeze took too long.
var ErrFreezeTimeout = errors.New("chat: the freeze timed out before all commands and messages were finished")

// ErrUpgrading refuses administrative changes during a handover: clients that have been handed over
// would not be notified.
var ErrUpgrading = errors.New("chat: the server is being upgraded: try again")

// Freeze holds back all commands.
func (s *Core) Freeze() { s.frozenSessions = map[*Session]struct{}{} }

// Thaw ends a freeze: commands run again, and sessions that ended meanwhile are detached.
func (s *Core) Thaw() {
	waiting, ended := s.frozenSessions, s.deferredDepartures
	s.frozenSessions, s.deferredDepartures = nil, nil
	for _, d := range ended {
		d.session.depart(d.cause)
	}
	for session := range waiting {
		session.conn.Post()
	}
}

// departure is the end of a session during a freeze; other clients are notified after it.
type departure struct {
	session *Session
	cause   CloseCause
}

// holdIfFrozen reports whether the service is frozen, and if so registers the session for a
// wake-up by Thaw.
func (s *Core) holdIfFrozen(session *Session) bool {
	if s.frozenSessions == nil {
		return false
	}
	s.frozenSessions[session] = struct{}{}
	if session.mustReconnect() {
		session.conn.Post()
	}
	return true
}

// reconnectLine is sent to a client whose connection cannot be handed over.
const reconnectLine = "ERROR :Closing link (The server is being upgraded: connect again)\r\n"

// DisconnectUnmovable asks the clients whose connections cannot be handed over, or all clients, to
// reconnect. It returns the number of sessions.
func (s *Core) DisconnectUnmovable(all bool) (sessions int) {
	s.mustReconnect = reconnectUnmovable
	if all {
		s.mustReconnect = reconnectAll
	}
	for _, u := range s.users {
		for _, session := range u.sessions {
			if session.mustReconnect() {
				session.conn.Post()
			}
		}
	}
	for session := range s.frozenSessions {
		if session.mustReconnect() {
			session.conn.Post()
		}
	}
	return s.sessionCount - len(s.deferredDepartures)
}

// reconnectScope says which clients must reconnect during a handover.
type reconnectScope uint8

const (
	reconnectNone      reconnectScope = iota // no handover has begun
	reconnectUnmovable                       // those whose connections cannot be handed over
	reconnectAll
)

// mustReconnect reports whether the session cannot be handed over.
func (s *Session) mustReconnect() bool {
	return s.svc.mustReconnect == reconnectAll || s.svc.mustReconnect == reconnectUnmovable && !s.conn.CanMove()
}

var errConnectAgain = errors.New("chat: the server is being upgraded")

// finishAdoption ends the freeze of a resumed service. Users without a session have quit. Further
// calls do nothing.
func (s *Core) finishAdoption() {
	if s.adoptionDone {
		return
	}
	s.adoptionDone = true
	for _, nick := range slices.Sorted(maps.Keys(s.users)) {
		if u := s.users[nick]; len(u.sessions) == 0 {
			s.quit(u, u.quitMessageIfLost)
		}
	}
	for addr, v := range s.networks {
		if v.connections == 0 {
			delete(s.networks, addr)
		}
	}
	s.Thaw()
}

// adoptTimeout is how long a resumed service waits for connections.
const adoptTimeout = 10 * time.Second

// AwaitAdoptions lets the freeze of a resumed service end when n connections have been adopted, or
// after adoptTimeout.
func (s *Core) AwaitAdoptions(n int) {
	if s.awaitedAdoptions = n; n == 0 {
		s.finishAdoption()
	} else {
		s.after(adoptTimeout, s.finishAdoption)
	}
}

// Adopt returns the session of a connection that was handed over, nil if it cannot be adopted.
func (s *Core) Adopt(t *Task, c environment.Conn, state []byte) *Session {
	defer func() {
		if s.awaitedAdoptions--; s.awaitedAdoptions == 0 {
			s.finishAdoption()
		}
	}()
	x, missed, err := s.readSession(t, c, state)
	if err != nil {
		s.fixed.Log.Warn("a connection could not be adopted", "error", err)
		c.Send([]byte(reconnectLine))
		return nil
	}
	if len(missed) > 0 && !c.Send(missed) {
		s.closeSlow(x)
	}
	c.Post() // so that it continues and sets its timer
	return x
}

// Move returns the state of a session that is handed over, and its last output. ok is false
// if it cannot be handed over: the client has been asked to reconnect.
func (s *Session) Move() (state, output []byte, ok bool) {
	if s.svc.frozenSessions == nil || s.ownership != ownedByServe || s.task != nil || s.endErr != nil || s.sasl != nil || s.mustReconnect() || s.pendingMessages > 0 {
		s.conn.Send([]byte(reconnectLine))
		return nil, nil, false
	}
	output, s.replies = s.replies, nil // replies of a finished task
	return s.encodeState(), output, true
}

// foldedNick returns the key of the user in Core.users, "" for no user.
func (u *user) foldedNick() string {
	if u == nil {
		return ""
	}
	return irc.Fold(u.nick)
}
