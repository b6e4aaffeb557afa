package chat

import (
	"bytes"
	"time"

	"weir/chat/irc"
	"weir/chat/log"
	"weir/flow"
)

// delivery is what is kept from batch to batch, so that a delivery allocates nothing.
type delivery struct {
	seats []*seat
	views [irc.Views]encoded
	own   []byte // what a sender is sent
}

// encoded is a batch as a view shows it.
type encoded struct {
	batch uint64 // Service.stamp of what this is an encoding of
	text  []byte
	ends  []int // of each line in text
}

// line is the encoding of the line at i.
func (e *encoded) line(i int) []byte {
	if i == 0 {
		return e.text[:e.ends[0]]
	}
	return e.text[e.ends[i-1]:e.ends[i]]
}

// deliver hands a batch to everybody who is there.
func (s *Service) deliver(f *feed, d *delivery) {
	d.seats = d.seats[:0]
	if f.err == nil && len(f.taken) > 0 {
		s.locked(func() { f.handOut(d) })
	}
	for _, seat := range d.seats {
		d.send(f, seat)
	}
	s.counts.deliveries.Add(int64(len(d.seats) * len(f.taken)))
	if f.err != nil {
		s.o.Log.Error("messages refused", "log", f.key, "messages", len(f.taken), "error", f.err)
		f.refuse(f.taken, f.err)
	}
	s.counts.batches.Add(1)
	f.settle(f.taken)
	clear(f.taken)
	f.taken = f.taken[:0]
}

// handOut begins a delivery: what is in the batch holds from now on, and who has a seat now gets
// it. The caller holds the lock.
func (f *feed) handOut(d *delivery) {
	f.delivered = f.batch.End
	f.sending, f.told, f.lately = true, time.Now(), len(f.taken)
	f.svc.stamp++
	f.stamp = f.svc.stamp
	for i := range f.taken {
		p := &f.taken[i]
		p.from.said, p.from.labeled = f.stamp, p.label != "" || p.from.said == f.stamp && p.from.labeled
	}
	d.seats = f.audience(d.seats)
	for _, seat := range d.seats {
		s := seat.session
		seat.said, seat.labeled = s.said == f.stamp, s.said == f.stamp && s.labeled
	}
}

// again puts a feed back if something is pending, or has it leave the net. Who left while the batch
// was sent has it: the mark of that seat was kept too early. A state that the disk refused waits
// for retryStates.
func (s *Service) again(f *feed, d *delivery, out *flow.Out[*feed]) {
	s.mu.Lock()
	for _, seat := range d.seats {
		if seat.left {
			s.keepMark(seat, false)
		}
	}
	clear(d.seats)
	f.queued, f.sending = false, false
	s.handedOut.Broadcast()
	if len(f.pending) > 0 {
		s.wants(f)
	}
	s.release(func(feeds []*feed) int { out.Put(feeds); return len(feeds) })
}

// audience appends the seats that a batch is for. The caller holds the lock.
func (f *feed) audience(seats []*seat) []*seat {
	if f.room == nil {
		f.seatPair()
	}
	for _, seat := range f.seats {
		if seat.live {
			seats = append(seats, seat)
		}
	}
	return seats
}

// send sends the batch under way to a seat, by one Send.
func (d *delivery) send(f *feed, seat *seat) {
	s := seat.session
	caps := s.capSet()
	e := d.view(f, caps.View())
	text := e.text
	if seat.said && (seat.labeled || !caps.Has(irc.CapEchoMessage) || f.isSelf()) {
		text = d.forSender(f, s, caps, e)
	}
	if len(text) > 0 && !s.conn.Send(text) {
		f.svc.tooSlow(s)
		return
	}
	seat.seen.Store(f.batch.End)
}

// forSender is the batch for a session that some of it comes from: without its own messages if it
// wants no echo, with its labels if it has some.
func (d *delivery) forSender(f *feed, s *session, caps irc.Caps, e *encoded) []byte {
	d.own = d.own[:0]
	for i := range f.taken {
		p := &f.taken[i]
		switch {
		case p.from != s:
			d.own = append(d.own, e.line(i)...)
		case p.text && !caps.Has(irc.CapEchoMessage):
			if p.label != "" && p.last {
				d.own = f.svc.appendAck(d.own, p.label)
			}
		case p.label != "" && len(e.line(i)) > 0:
			d.own = appendLabeled(d.own, p.label, e.line(i))
		case p.label != "": // the client lacks the capability that the line needs
			d.own = f.svc.appendAck(d.own, p.label)
		default:
			d.own = append(d.own, e.line(i)...)
		}
	}
	if f.isSelf() { // besides the echo, it is told what it was told
		for i := range f.taken {
			if p := &f.taken[i]; p.from == s && p.text {
				d.own = append(d.own, e.line(i)...)
			}
		}
	}
	return d.own
}

// appendLabeled appends a line, or the first of several, with a label.
func appendLabeled(dst []byte, label string, line []byte) []byte {
	if len(line) == 0 {
		return dst
	}
	dst = append(append(dst, "@label="...), label...)
	if rest, tagged := bytes.CutPrefix(line, []byte{'@'}); tagged {
		return append(append(dst, ';'), rest...)
	}
	return append(append(dst, ' '), line...)
}

func (s *Service) appendAck(dst []byte, label string) []byte {
	return irc.AppendLine(append(append(append(dst, "@label="...), label...), ' '), s.o.Name, "ACK")
}

// view is the batch under way as a view shows it, encoded once.
func (d *delivery) view(f *feed, v irc.View) *encoded {
	e := &d.views[v]
	if e.batch == f.stamp {
		return e
	}
	e.batch, e.text, e.ends = f.stamp, e.text[:0], e.ends[:0]
	show := shown{view: v}
	for _, line := range f.batch.Lines {
		e.text = show.append(e.text, "", line)
		e.ends = append(e.ends, len(e.text))
	}
	return e
}

var (
	ownTag     = []byte(irc.OwnTags)
	tagmsgWord = []byte("TAGMSG ")
	redactWord = []byte("REDACT ")
	blankText  = []byte(":\r\n")
)

// shown shows lines that follow each other in a log.
type shown struct {
	view irc.View
	// tags of the long message's first line, which was blank and not shown; nil: it was shown
	first []byte
}

// append appends a stored line as the view shows it; nothing, where that view cannot show it. Extra
// are tags without "@".
func (sh *shown) append(dst []byte, extra string, line log.Line) []byte {
	v, body := sh.view, line.Plain()
	tags := bytes.TrimSuffix(line.Tagged()[:len(line.Tagged())-len(body)], []byte{' '})
	if v&irc.ViewTags == 0 && isCommand(body, tagmsgWord) || v&irc.ViewRedact == 0 && isCommand(body, redactWord) {
		return dst
	}
	if bytes.Contains(tags, ownTag) {
		if line.Redacted() {
			return dst
		}
		if p, ok := partOf(line); ok {
			return sh.appendPart(dst, extra, line, p, tags, body)
		}
	}
	return irc.AppendView(dst, v, extra, tags, body)
}

// isCommand says whether a line ":source COMMAND ..." has that command, given with the space behind
// it.
func isCommand(body, command []byte) bool {
	_, rest, _ := bytes.Cut(body, []byte{' '})
	return bytes.HasPrefix(rest, command)
}

// appendPart appends a line that is a part of a long message: in a batch of its own to who knows
// such, as a message to others, of which only the first has an id, and none is blank.
func (sh *shown) appendPart(dst []byte, extra string, line log.Line, p longPart, tags, body []byte) []byte {
	v, words := sh.view, bytes.SplitN(body, []byte{' '}, 4)
	if v&irc.ViewMultiline == 0 {
		if p.n == 0 {
			sh.first = nil
		}
		switch blank := bytes.Equal(words[3], blankText); {
		case blank && p.n == 0:
			sh.first = bytes.Clone(tags)
			return dst
		case blank:
			return dst
		case sh.first != nil:
			tags, sh.first = sh.first, nil
		case p.n > 0:
			v &^= irc.ViewTags
		}
		return irc.AppendView(dst, v, extra, tags, body)
	}
	if p.n == 0 {
		start := []byte(string(words[0]) + " BATCH +" + p.message + " draft/multiline " + string(words[2]) + "\r\n")
		dst = irc.AppendView(dst, v, extra, tags, start)
	}
	inner := "batch=" + p.message
	if _, concat := line.Tag("draft/multiline-concat"); concat {
		inner += ";draft/multiline-concat"
	}
	dst = irc.AppendView(dst, 0, inner, nil, body)
	if p.n == p.of-1 {
		dst = append(append(dst, words[0]...), " BATCH -"+p.message+"\r\n"...)
	}
	return dst
}
