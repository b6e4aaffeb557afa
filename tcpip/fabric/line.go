package fabric

import (
	"bytes"
	"math/rand/v2"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// line is one direction of a link. The network's lock guards it.
type line struct {
	link     *Link
	from, to *Node
	path     Path
	fates    *link.Fates
	random   *rand.Rand // for corruption and blur
	lastSent time.Time  // when the last packet was sent, after blur
}

func newLine(l *Link, from, to *Node, p Path, seed, stream uint64) (*line, error) {
	n := &line{link: l, from: from, to: to, random: rand.New(rand.NewPCG(seed, stream+1))}
	var err error
	n.fates, err = link.NewFates(link.Impairment{}, seed, stream)
	if err != nil {
		return nil, err
	}
	return n, n.set(p)
}

// set changes the path; the random numbers go on.
func (l *line) set(p Path) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := l.fates.Set(p.impairment()); err != nil {
		return err
	}
	l.path = p
	return nil
}

// send sends a packet by the line. at is when its sender has sent it.
func (l *line) send(n *Network, at time.Time, p *packet) {
	if l.path.MTU > 0 && len(p.bytes) > l.path.MTU {
		l.tooBig(n, at, p)
		return
	}
	corrupt, position := l.random.Float64() < l.path.Corrupt, l.random.Float64()
	sent := at
	if n.cfg.Ordered {
		sent = l.blur(at)
	}
	arrival, copies, why := l.fates.Decide(sent, len(p.bytes))
	if copies == 0 {
		n.drop(at, l.from, p, dropOf(why))
		return
	}
	for range copies {
		q := *p
		q.prev = l.from
		if copies > 1 || corrupt {
			q.bytes = bytes.Clone(p.bytes)
		}
		if corrupt {
			flipBit(q.bytes, position)
		}
		n.schedule(arrival, l.to, &q)
	}
}

// maxBlur is how much blur may add to a delay.
const maxBlur = time.Microsecond

// blur adds a random part of a microsecond to the time of a sending, never 0. Otherwise a packet
// that is sent again after a timeout arrives in the same nanosecond in which the timer of its
// receiver, set when the first one arrived, runs out. The runtime would decide which comes first.
// The order of the packets stays.
func (l *line) blur(at time.Time) time.Time {
	at = at.Add(1 + time.Duration(l.random.Int64N(int64(maxBlur-1))))
	if at.Before(l.lastSent) {
		at = l.lastSent
	}
	l.lastSent = at
	return at
}

// flipBit flips a bit behind the IP header, at a position given as a share.
func flipBit(b []byte, position float64) {
	begin := headerLen(b)
	if bits := 8 * (len(b) - begin); bits > 0 {
		at := int(position * float64(bits))
		b[begin+at/8] ^= 1 << (at % 8)
	}
}

func headerLen(b []byte) int {
	if b[0]>>4 == 6 {
		return wire.IPv6Header
	}
	return min(len(b), 4*int(b[0]&0xf))
}

func dropOf(why link.Drop) Drop {
	switch why {
	case link.DropFull:
		return DropQueueFull
	case link.DropCoDel:
		return DropCoDel
	}
	return DropLost
}
