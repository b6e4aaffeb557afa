package chat

import (
	"bytes"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/load"
	"weir/lab/load/internal/raw"
)

type memberState uint8

const (
	absent memberState = iota // no connection: not yet, or no more
	connecting
	registering // until the end of the message of the day
	joining     // until the end of the room's names
	present     // where it should be
)

// member is a connection to the server.
type member struct {
	fd    int32 // -1 while there is none
	state memberState
	echo  bool // it is told of its own messages
	room  int32
	nick  string
	rest  []byte // the begin of a line that has not come whole
	out   []byte // what the connection had no room for

	expected []uint32 // the number that comes next of each sender of its room

	line   []byte // what it says: its number is at number
	number int
	sent   uint32 // its next message's number
	acked  uint32 // those before are acknowledged
	left   int32  // deliveries of its last message to come
	sentAt int64  // ns; when that was sent
	offers []byte // capabilities, while they come
}

// compose makes the line that sender says.
func (m *member) compose(t *texts, sender uint32, r *room) {
	m.line = append([]byte("PRIVMSG "+r.name), " :"...)
	m.number = len(m.line) + numberAt
	m.line = append(t.append(m.line, sender, 0), "\r\n"...)
}

// say sends the next message of member i, which was due at the given time.
func (l *loop) say(i int, at, now int64) {
	m := &l.members[i]
	if l.period > 0 && l.Window.Holds(at) {
		l.dueIn++
	}
	if m.state != present {
		return
	}
	fan := l.rooms[m.room].here - 1
	if m.echo {
		fan++
	}
	appendLetters(m.line[:m.number], m.sent)
	m.sent++
	m.left, m.sentAt = fan, now
	l.owed += int64(fan)
	if l.Window.Holds(at) {
		l.offered += int64(fan)
		l.late(m, at, now)
	}
	if l.Window.Holds(now) {
		l.sentIn++
	}
	l.write(i, m.line)
	if l.Acks && !m.echo {
		l.write(i, fmt.Appendf(nil, "PING w%d\r\n", m.sent))
	}
}

// late records how late this program was with a message that nothing held up.
func (l *loop) late(m *member, at, now int64) {
	if l.period == 0 {
		return
	}
	if len(m.out) > 0 {
		l.behind++
		return
	}
	if now-at > l.Worst.Load() {
		l.Worst.Store(now - at)
	}
	l.lateness.Record(now - at)
}

// write sends text to member i's server, now or when there is room.
func (l *loop) write(i int, text []byte) {
	m := &l.members[i]
	if len(m.out) > 0 || m.fd < 0 {
		m.out = append(m.out, text...)
		return
	}
	n, errno := raw.Write(m.fd, text)
	switch errno {
	case 0:
		m.out = append(m.out, text[n:]...)
	case syscall.EAGAIN, syscall.EINTR:
		m.out = append(m.out, text...)
	default:
		l.broken(i, errno)
	}
}

// flush sends what there was no room for.
func (l *loop) flush(i int) {
	m := &l.members[i]
	for len(m.out) > 0 {
		n, errno := raw.Write(m.fd, m.out)
		switch errno {
		case 0:
			m.out = m.out[:copy(m.out, m.out[n:])]
		case syscall.EINTR:
		case syscall.EAGAIN:
			return
		default:
			l.broken(i, errno)
			return
		}
	}
}

// handle deals with what epoll says of member i.
func (l *loop) handle(i int, events uint32) {
	m := &l.members[i]
	if m.fd < 0 || m.state == connecting && !l.completed(i) {
		return
	}
	if events&unix.EPOLLOUT != 0 {
		l.flush(i)
	}
	if events&^unix.EPOLLOUT != 0 {
		l.receive(i, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// receive reads what has come for member i, to its end if the server will send nothing more.
func (l *loop) receive(i int, last bool) {
	m := &l.members[i]
	for fd := m.fd; fd >= 0 && m.fd == fd; {
		n, errno := raw.Read(fd, l.buffer)
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return
		case errno != 0:
			l.broken(i, errno)
			return
		case n == 0:
			l.lose(i, kindClosed, "the server ended the connection")
			return
		}
		l.got(i, l.buffer[:n], l.Clock.Now())
		if n < len(l.buffer) && !last {
			return // what comes later is an event of its own
		}
	}
}

// got takes bytes of member i apart into lines.
func (l *loop) got(i int, in []byte, now int64) {
	m := &l.members[i]
	if len(m.rest) > 0 {
		end := bytes.IndexByte(in, '\n')
		if end < 0 {
			m.rest = append(m.rest, in...)
			return
		}
		m.rest = append(m.rest, in[:end]...)
		whole := m.rest
		m.rest, in = m.rest[:0], in[end+1:]
		l.heard(i, bytes.TrimSuffix(whole, []byte("\r")), now)
	}
	for len(in) > 0 && m.fd >= 0 {
		end := bytes.IndexByte(in, '\n')
		if end < 0 {
			m.rest = append(m.rest, in...)
			return
		}
		line := in[:end]
		if end > 0 && line[end-1] == '\r' {
			line = line[:end-1]
		}
		l.heard(i, line, now)
		in = in[end+1:]
	}
}

// broken deals with an error of member i's connection.
func (l *loop) broken(i int, errno syscall.Errno) {
	kind := kindReset
	if errno == syscall.EPIPE {
		kind = kindClosed
	}
	l.lose(i, kind, errno.Error())
}

// lose gives member i up: what it was to get is not waited for.
func (l *loop) lose(i int, kind, why string) {
	m := &l.members[i]
	was := m.state
	l.shut(i)
	switch {
	case was != present && i < len(l.members)-1 && l.Err == nil:
		l.Err = fmt.Errorf(load.ServerFailed+"%s could not join: %s", m.nick, why)
		return
	case i == len(l.members)-1:
		l.endReplay(why)
		return
	}
	l.fails.Add(kind, 1, "%s: %s", m.nick, why)
	if i >= l.Members {
		return
	}
	l.rooms[m.room].here--
	for s, next := range m.expected {
		sender := &l.members[s*l.Rooms+int(m.room)]
		if sender == m && !m.echo {
			continue
		}
		l.owed -= int64(sender.sent - next)
		if sender.left > 0 && next < sender.sent {
			if sender.left--; sender.left == 0 && l.period == 0 && !l.ended {
				l.again = append(l.again, int32(s*l.Rooms+int(m.room)))
			}
		}
	}
	if l.Alive.Add(-1) == 0 && l.Err == nil && !l.ended {
		l.Err = errAllLost
	}
}

// shut closes member i's connection.
func (l *loop) shut(i int) {
	m := &l.members[i]
	if m.fd >= 0 {
		unix.Close(int(m.fd)) //nolint:errcheck // nothing is lost
	}
	m.fd, m.state, m.out, m.rest = -1, absent, m.out[:0], m.rest[:0]
}
