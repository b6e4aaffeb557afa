package chatload

import (
	"bytes"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/load"
)

type memberState uint8

const (
	absent memberState = iota // no connection: not yet, or lost
	connecting
	registering // until the end of the message of the day (376 or 422)
	joining     // until the end of the room's names (366)
	present     // in its room
)

// member is a connection to the server.
type member struct {
	fd             int32 // -1 without a connection
	state          memberState
	echoesMessages bool // it receives its own messages (echo-message)
	room           int32
	nick           string
	partialLine    []byte // the start of an incomplete line
	queuedOutput   []byte // output that the connection has not accepted

	expected []uint32 // by sender of its room: the number of the next message

	line        []byte // the line that it sends; its number starts at position number
	number      int
	nextNumber  uint32 // number of its next message
	ackedBefore uint32 // messages before this number are acknowledged
	outstanding int32  // outstanding deliveries of its last message
	sentAt      int64  // ns; when its last message was sent
	offers      []byte // capabilities of the server, while CAP LS is read
}

// compose creates the line that the sender sends.
func (m *member) compose(t *texts, sender uint32, r *room) {
	m.line = append([]byte("PRIVMSG "+r.name), " :"...)
	m.number = len(m.line) + numberAt
	m.line = append(t.append(m.line, sender, 0), "\r\n"...)
}

// Send sends the next message of member i, which was due at the given time.
func (l *loop) Send(i int, at, now int64) {
	m := &l.members[i]
	if l.open && l.Window.Holds(at) {
		l.dueIn++
	}
	if m.state != present {
		return
	}
	fan := l.rooms[m.room].memberCount - 1
	if m.echoesMessages {
		fan++
	}
	appendLetters(m.line[:m.number], m.nextNumber)
	m.nextNumber++
	m.outstanding, m.sentAt = fan, now
	l.outstanding += int64(fan)
	if l.Window.Holds(at) {
		l.Offered += int64(fan)
		l.recordLateness(m, at, now)
	}
	if l.Window.Holds(now) {
		l.sentIn++
	}
	l.write(i, m.line)
	if l.Acks && !m.echoesMessages {
		l.write(i, fmt.Appendf(nil, "PING w%d\r\n", m.nextNumber))
	}
}

// recordLateness records the lateness of a message that was not delayed by a full connection.
func (l *loop) recordLateness(m *member, at, now int64) {
	if !l.open {
		return
	}
	if len(m.queuedOutput) > 0 {
		l.Behind++
		return
	}
	l.RecordLateness(at, now)
}

// write sends text on member i's connection, or queues it until the connection is writable.
func (l *loop) write(i int, text []byte) {
	m := &l.members[i]
	if len(m.queuedOutput) > 0 || m.fd < 0 {
		m.queuedOutput = append(m.queuedOutput, text...)
		return
	}
	n, errno := raw.Send(m.fd, text)
	switch errno {
	case 0:
		m.queuedOutput = append(m.queuedOutput, text[n:]...)
	case syscall.EAGAIN, syscall.EINTR:
		m.queuedOutput = append(m.queuedOutput, text...)
	default:
		l.broken(i, errno)
	}
}

// flush sends queued output.
func (l *loop) flush(i int) {
	m := &l.members[i]
	for len(m.queuedOutput) > 0 {
		n, errno := raw.Send(m.fd, m.queuedOutput)
		switch errno {
		case 0:
			m.queuedOutput = m.queuedOutput[:copy(m.queuedOutput, m.queuedOutput[n:])]
		case syscall.EINTR:
		case syscall.EAGAIN:
			return
		default:
			l.broken(i, errno)
			return
		}
	}
}

// Handle handles epoll events of member i.
func (l *loop) Handle(i int, events uint32) {
	m := &l.members[i]
	if m.fd < 0 || m.state == connecting && !l.connected(i) {
		return
	}
	if events&unix.EPOLLOUT != 0 {
		l.flush(i)
	}
	if events&^unix.EPOLLOUT != 0 {
		l.receive(i, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// receive reads the input of member i, to its end if the server has shut down the connection.
func (l *loop) receive(i int, last bool) {
	m := &l.members[i]
	for fd := m.fd; fd >= 0 && m.fd == fd; {
		n, errno := raw.Receive(fd, l.buffer)
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return
		case errno != 0:
			l.broken(i, errno)
			return
		case n == 0:
			l.lose(i, oneloop.KindClosed, "the server ended the connection")
			return
		}
		l.input(i, l.buffer[:n], l.Clock.Now())
		if n < len(l.buffer) && !last {
			return // later input is a new event
		}
	}
}

// input splits the input of member i into lines.
func (l *loop) input(i int, in []byte, now int64) {
	m := &l.members[i]
	if len(m.partialLine) > 0 {
		end := bytes.IndexByte(in, '\n')
		if end < 0 {
			m.partialLine = append(m.partialLine, in...)
			return
		}
		m.partialLine = append(m.partialLine, in[:end]...)
		whole := m.partialLine
		m.partialLine, in = m.partialLine[:0], in[end+1:]
		l.handleLine(i, bytes.TrimSuffix(whole, []byte("\r")), now)
	}
	for len(in) > 0 && m.fd >= 0 {
		end := bytes.IndexByte(in, '\n')
		if end < 0 {
			m.partialLine = append(m.partialLine, in...)
			return
		}
		line := in[:end]
		if end > 0 && line[end-1] == '\r' {
			line = line[:end-1]
		}
		l.handleLine(i, line, now)
		in = in[end+1:]
	}
}

// broken handles an error of member i's connection.
func (l *loop) broken(i int, errno syscall.Errno) {
	l.lose(i, oneloop.ErrorKind(errno), errno.Error())
}

// lose gives member i up: its outstanding deliveries are not awaited.
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
	l.Failures.Add(kind, 1, "%s: %s", m.nick, why)
	if i >= l.Members {
		return
	}
	l.rooms[m.room].memberCount--
	for s, next := range m.expected {
		sender := &l.members[s*l.Rooms+int(m.room)]
		if sender == m && !m.echoesMessages {
			continue
		}
		l.outstanding -= int64(sender.nextNumber - next)
		if sender.outstanding > 0 && next < sender.nextNumber {
			if sender.outstanding--; sender.outstanding == 0 && !l.open && !l.IsOver {
				l.readySenders = append(l.readySenders, int32(s*l.Rooms+int(m.room)))
			}
		}
	}
	if l.Alive.Add(-1) == 0 && l.Err == nil && !l.IsOver {
		l.Err = oneloop.ErrAllLost
	}
}

// shut closes member i's connection.
func (l *loop) shut(i int) {
	m := &l.members[i]
	if m.fd >= 0 {
		unix.Close(int(m.fd)) //nolint:errcheck // no data to lose
	}
	m.fd, m.state, m.queuedOutput, m.partialLine = -1, absent, m.queuedOutput[:0], m.partialLine[:0]
}
