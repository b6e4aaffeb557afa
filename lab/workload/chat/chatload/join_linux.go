package chatload

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/load"
)

// maxJoining is the number of connections that are being opened or joining at once. InspIRCd
// accepts waiting clients once a second: with a smaller number a thousand would take it a minute.
const maxJoining = 64

// joinAll joins every member to its room and registers the idle connections, some at a time.
func (l *loop) joinAll() error {
	all := l.Members + l.Idle
	progress, made := l.Clock.Now(), 0
	for begun := 0; l.joined < all; {
		for ; begun < all && begun-l.joined < maxJoining && l.Err == nil; begun++ {
			l.connect(begun)
		}
		now := l.Clock.Now()
		l.runOnce(now + oneloop.Nap)
		if l.joined > made {
			progress, made = now, l.joined
		}
		switch {
		case l.Stop.Load():
			return l.cancelled()
		case l.Err != nil:
			return l.Err
		case now-progress > int64(max(raw.DialTimeout, l.timeout())):
			return fmt.Errorf(load.ServerFailed+"no member could join for %v, after %d of %d: the server does not answer as an IRC server", max(raw.DialTimeout, l.timeout()), l.joined, all)
		}
	}
	return nil
}

// connect opens the connection of member i.
func (l *loop) connect(i int) {
	m := &l.members[i]
	fd, err := l.server.Socket()
	if err != nil {
		l.notConnected(i, err)
		return
	}
	m.fd, m.state = int32(fd), connecting
	// cannot fail on a TCP socket
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) //nolint:errcheck
	if err = l.server.Connect(fd); err == nil {
		err = l.poll.Add(fd, i)
	}
	if err != nil {
		l.notConnected(i, err)
	}
}

func (l *loop) notConnected(i int, err error) {
	if errors.Is(err, unix.ETIMEDOUT) {
		err = os.ErrDeadlineExceeded
	}
	l.shut(i)
	if l.Err == nil {
		l.Err = raw.DialError(l.addr, err)
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
		l.joined++
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
	l.joined++
	l.Alive.Add(1)
}
