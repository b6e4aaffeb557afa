package wsload

import (
	"bytes"
	"fmt"

	"weir/lab/workload/http/wsload/frame"
)

// pieceReceived handles a part of a message, or a control frame, on connection i.
func (l *loop) pieceReceived(i int, p frame.Piece, now int64) {
	c := &l.conns[i]
	switch p.Op {
	case frame.Ping:
		if l.pings++; c.state == open {
			l.write(i, frame.Pong, p.Payload)
		}
	case frame.Pong: // it was not asked for, which RFC 6455, section 5.5.3, allows
	case frame.Close:
		status, reason := p.Status()
		if c.state == open {
			l.write(i, frame.Close, p.Payload[:min(len(p.Payload), 2)])
		}
		if c.fd >= 0 {
			l.lose(i, kindClose, fmt.Sprintf("the server closed it with the status %s %.60q", frame.StatusText(status), reason))
		}
	default:
		if l.Window.Holds(now) {
			l.receivedBytes += int64(len(p.Payload))
		}
		l.messagePiece(i, p, now)
	}
}

// messagePiece handles a part of a message: it is compared, or only counted.
func (l *loop) messagePiece(i int, p frame.Piece, now int64) {
	c := &l.conns[i]
	switch {
	case c.state != open:
		return
	case !l.Echo:
		c.offset += len(p.Payload)
	case c.awaited.K >= c.next.K:
		l.lose(i, kindEcho, "a message came that answers none")
		return
	default:
		want := l.payloads.of(i, c.awaited.K)
		end := c.offset + len(p.Payload)
		c.wrong = c.wrong || !l.Any && (p.Op != l.op || end > len(want) || !bytes.Equal(p.Payload, want[c.offset:end]))
		c.offset = end
	}
	if !p.Last {
		return
	}
	if l.Window.Holds(now) {
		l.received++
	}
	size := c.offset
	if c.offset = 0; l.Echo {
		l.echoReceived(i, size, now)
	} else if !l.isOpen {
		if l.Window.Holds(now) {
			l.Offered, l.Answered = l.Offered+1, l.Answered+1
		}
		l.countMessage(now, size)
	}
}

// echoReceived handles the complete echo of the awaited message of connection i.
func (l *loop) echoReceived(i, size int, now int64) {
	c := &l.conns[i]
	m, wrong := c.awaited, c.wrong || !l.Any && size != l.Size
	c.awaited, c.wrong = l.after(i, m), false
	switch {
	case m.K < c.pending.K: // it has failed before, because it is late
	case wrong:
		l.failPending(i, now, kindEcho, fmt.Sprintf("message %d was echoed with %d bytes that are not its %d, or with another type", m.K, size, l.Size))
	default:
		c.pending = c.awaited
		l.countEcho(m.At, now)
	}
	if !l.isOpen {
		l.freed = append(l.freed, int32(i))
	}
}

// countEcho counts a correct echo of a message that was due at the given time.
func (l *loop) countEcho(at, now int64) {
	holds := l.Window.Holds(now)
	if l.isOpen {
		holds = l.Window.Holds(at)
	}
	if holds {
		l.Answered++
		l.Latency.Record(now - at)
	}
	l.countMessage(now, l.Size)
}

// failPending counts the failure of the first message of connection i that is neither answered nor
// failed.
func (l *loop) failPending(i int, now int64, kind, detail string) {
	c := &l.conns[i]
	at := c.pending.At
	c.pending = l.after(i, c.pending)
	l.Failed.Add(1)
	l.Failures.Add(kind, 1, "connection %d: %s", i, detail)
	if l.isOpen {
		now = at
	}
	if l.Window.Holds(now) {
		l.FailedIn++
	}
}
