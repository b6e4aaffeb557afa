package chatload

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

// Late implements oneloop.Loop.
func (l *loop) Late() error {
	return fmt.Errorf(load.ServerFailed+"no member could join for %v, after %d of %d: the server does not answer as an IRC server", l.ConnectLimit, l.ReadyOnes, l.Members+l.Idle)
}

// Prepare fills the room of a replay.
func (l *loop) Prepare() error {
	l.joinNS = l.Clock.Now() - l.began
	if l.Replay > 0 {
		return l.fill()
	}
	return nil
}

// Connect opens the connection of member i.
func (l *loop) Connect(i int) {
	m := &l.members[i]
	fd, err := l.Dial(i, nil)
	if err != nil {
		l.notConnected(i, err)
		return
	}
	m.fd, m.state = fd, connecting
}

// notConnected ends the run, also while a replay is measured.
func (l *loop) notConnected(i int, err error) {
	l.shut(i)
	if l.Err == nil {
		l.Err = l.Server.Error(err)
	}
}

// connected checks an attempt to connect, and registers member i if it succeeded. It reports
// whether the member has a connection.
func (l *loop) connected(i int) bool {
	m := &l.members[i]
	if err := oneloop.Connected(int(m.fd)); err != nil {
		l.notConnected(i, err)
		return false
	}
	m.state = registering
	l.startRegistration(i)
	return m.fd >= 0
}

// startRegistration sends the registration of member i.
func (l *loop) startRegistration(i int) {
	m := &l.members[i]
	var b strings.Builder
	if len(l.wantedCaps(i)) > 0 {
		b.WriteString("CAP LS 302\r\n")
	}
	if l.Pass != "" {
		b.WriteString("PASS " + l.Pass + "\r\n")
	}
	fmt.Fprintf(&b, "NICK %s\r\nUSER %s 0 * :%s\r\n", m.nick, m.nick, m.nick)
	l.write(i, []byte(b.String()))
}

// wantedCaps returns the capabilities that member i requests.
func (l *loop) wantedCaps(i int) []string {
	switch {
	case i == len(l.members)-1:
		return append(slices.DeleteFunc(slices.Clone(l.Caps), isHistory), historyCaps...)
	case i >= l.Members:
		return nil
	}
	return slices.Clone(l.Caps)
}

// welcome handles the end of member i's registration.
func (l *loop) welcome(i int, now int64) {
	m := &l.members[i]
	switch {
	case m.state != registering:
	case i == len(l.members)-1:
		l.joinReplay(i, now)
	case i >= l.Members:
		m.state = present
		l.ReadyOnes++
	default:
		m.state = joining
		l.write(i, []byte("JOIN "+l.rooms[m.room].name+"\r\n"))
	}
}

// enter records that member i is in its room.
func (l *loop) enter(i int) {
	m := &l.members[i]
	m.state = present
	l.rooms[m.room].memberCount++
	l.ReadyOnes++
	l.Alive.Add(1)
}
