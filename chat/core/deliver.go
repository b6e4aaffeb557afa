package core

import (
	"bytes"
	"time"

	"weir/chat/environment"
	"weir/chat/irc"
	"weir/chat/log"
)

// delivery holds buffers that are reused from batch to batch, so that a delivery allocates nothing.
type delivery struct {
	conversation *conversation
	sendAll      func() // job that sends the batch to the receivers
	receivers    []receiver
	views        [irc.Views]encodedBatch
	senderTexts  []byte                 // batch as encoded for its senders, one after the other
	outgoing     []environment.Outgoing // texts for the receivers
	absent       []absentPost
}

// absentPost is a post whose sender is not among the receivers: it has left, never was a member, or
// is catching up.
type absentPost struct {
	index        int  // in conversation.batchPosts
	isCatchingUp bool // its replay has the line
}

// receiver is a subscriber to which a batch is written.
type receiver struct {
	*subscription
	caps            irc.Caps
	hasOwnPosts     bool // the batch has posts of its session
	hasLabeledPosts bool // the batch has labeled posts of its session
	tookBatch       bool // its connection took the batch
}

// encodedBatch is a batch encoded for one view.
type encodedBatch struct {
	stamp    uint64 // conversation.batchStamp of the batch
	text     []byte
	lineEnds []int // offsets of line ends in text
}

// line returns the encoding of line i.
func (e *encodedBatch) line(i int) []byte {
	if i == 0 {
		return e.text[:e.lineEnds[0]]
	}
	return e.text[e.lineEnds[i-1]:e.lineEnds[i]]
}

// deliver sends the current batch to all live subscribers. It is a part of the commit task.
func (f *conversation) deliver(t *Task) {
	if f.batchErr == nil && len(f.batchPosts) > 0 {
		d := f.svc.takeDelivery()
		f.beginDelivery(d)
		t.await(d.sendAll)
		f.answerAbsent(d)
		f.recordReceivers(d)
		f.svc.idleDeliveries = append(f.svc.idleDeliveries, d)
	}
	f.finishBatch()
}

// takeDelivery returns a delivery that is not in use.
func (s *Core) takeDelivery() *delivery {
	if last := len(s.idleDeliveries) - 1; last >= 0 {
		d := s.idleDeliveries[last]
		s.idleDeliveries = s.idleDeliveries[:last]
		return d
	}
	d := new(delivery)
	d.sendAll = func() { d.send(s.env.Fanout) }
	return d
}

// beginDelivery starts a delivery: from now on the batch counts as delivered, and all current
// live subscribers receive it.
func (f *conversation) beginDelivery(d *delivery) {
	d.conversation, d.receivers = f, d.receivers[:0]
	f.deliveredOffset = f.batch.End
	f.delivery, f.lastDeliveryAt, f.lastBatchSize = d, f.svc.now, len(f.batchPosts)
	absent := f.stampSenders()
	for _, sub := range f.receivers() {
		if sub.state == live {
			own := sub.session.deliveryStamp == f.batchStamp
			d.receivers = append(d.receivers, receiver{subscription: sub, caps: sub.session.caps, hasOwnPosts: own, hasLabeledPosts: own && sub.session.deliveryLabeled})
			if own {
				absent--
			}
		}
	}
	if d.absent = d.absent[:0]; absent > 0 {
		f.findAbsent(d)
	}
}

// stampSenders marks the sessions that have posts in the current batch, and returns their number.
func (f *conversation) stampSenders() (senders int) {
	f.svc.lastStamp++
	f.batchStamp = f.svc.lastStamp
	for i := range f.batchPosts {
		p := &f.batchPosts[i]
		if p.sender.deliveryStamp != f.batchStamp {
			p.sender.deliveryStamp, p.sender.deliveryLabeled = f.batchStamp, false
			senders++
		}
		p.sender.deliveryLabeled = p.sender.deliveryLabeled || p.label != ""
	}
	return senders
}

// findAbsent records the posts of senders that are not among the receivers.
func (f *conversation) findAbsent(d *delivery) {
	for i := range f.batchPosts {
		if sub := f.subscriptionOf(f.batchPosts[i].sender); sub == nil || sub.state != live {
			d.absent = append(d.absent, absentPost{i, sub != nil})
		}
	}
}

// answerAbsent answers the senders that are not among the receivers, as far as they expect an echo
// or a labeled reply. Otherwise their clients would send the message again.
func (f *conversation) answerAbsent(d *delivery) {
	for _, a := range d.absent {
		p := &f.batchPosts[a.index]
		s := p.sender
		var text []byte
		switch line := d.encode(f, s.caps.View()).line(a.index); {
		case p.isMessage && !s.has(irc.CapEchoMessage) || a.isCatchingUp || len(line) == 0:
			if p.label != "" {
				text = f.svc.appendAck(nil, p.label)
			}
		case p.label != "":
			text = appendLabeled(nil, p.label, line)
		case p.isMessage:
			text = line
		}
		if len(text) > 0 && !s.conn.Send(text) {
			f.svc.closeSlow(s)
		}
	}
}

// finishBatch finishes the posts of the current batch, and replies to their senders if the
// log has refused it.
func (f *conversation) finishBatch() {
	s := f.svc
	if f.batchErr != nil {
		s.fixed.Log.Error("messages refused", "log", f.logID, "messages", len(f.batchPosts), "error", f.batchErr)
		f.reportRefused(f.batchPosts, f.batchErr)
	}
	s.counts.Batches++
	f.finishPosts(f.batchPosts)
	clear(f.batchPosts)
	f.batchPosts = f.batchPosts[:0]
}

// recordReceivers ends a delivery. It records how far the subscribers were sent everything,
// and disconnects those that did not take the batch. They reconnect and read it from the log. It
// also stores the read markers of sessions that left during the delivery: they were sent the batch
// after unsubscribe had stored their marker.
func (f *conversation) recordReceivers(d *delivery) {
	f.svc.counts.Deliveries += int64(len(d.receivers) * len(f.batchPosts))
	for _, r := range d.receivers {
		if !r.tookBatch {
			f.svc.closeSlow(r.session)
			continue
		}
		r.sentUpTo = f.batch.End
		if r.state == unsubscribed {
			f.svc.saveReadMarker(r.subscription, ifWritten)
		}
	}
	clear(d.receivers)
	f.delivery = nil
	f.deliveryWaiters.wake()
}

// receivers returns the subscriptions, of which the live ones are sent a batch. The caller
// changes nothing in the result.
func (f *conversation) receivers() []*subscription {
	if f.room == nil {
		f.subscribePair()
	}
	return f.subscriptions
}

// send writes the current batch to all receivers.
func (d *delivery) send(by environment.Fanout) {
	d.senderTexts = d.senderTexts[:0]
	for i := range d.receivers {
		r := &d.receivers[i]
		if text := d.textFor(r); len(text) > 0 {
			d.outgoing = append(d.outgoing, environment.Outgoing{Conn: r.session.conn, Text: text, Taken: &r.tookBatch})
		} else {
			r.tookBatch = true
		}
	}
	by.SendAll(d.outgoing)
	clear(d.outgoing)
	d.outgoing = d.outgoing[:0]
}

// textFor returns the current batch as a receiver is sent it.
func (d *delivery) textFor(r *receiver) []byte {
	f := d.conversation
	e := d.encode(f, r.caps.View())
	if r.hasOwnPosts && (r.hasLabeledPosts || !r.caps.Has(irc.CapEchoMessage) || f.isSelfConversation()) {
		return d.textForSender(f, r.session, r.caps, e)
	}
	return e.text
}

// textForSender returns the batch as its sender receives it: without its own messages if the client
// lacks echo-message, and with labels where its commands had some.
func (d *delivery) textForSender(f *conversation, s *Session, caps irc.Caps, e *encodedBatch) []byte {
	start := len(d.senderTexts)
	for i := range f.batchPosts {
		p := &f.batchPosts[i]
		switch {
		case p.sender != s:
			d.senderTexts = append(d.senderTexts, e.line(i)...)
		case p.isMessage && !caps.Has(irc.CapEchoMessage):
			if p.label != "" && p.lastLine {
				d.senderTexts = f.svc.appendAck(d.senderTexts, p.label)
			}
		case p.label != "" && len(e.line(i)) > 0:
			d.senderTexts = appendLabeled(d.senderTexts, p.label, e.line(i))
		case p.label != "": // the client lacks the capability for this line
			d.senderTexts = f.svc.appendAck(d.senderTexts, p.label)
		default:
			d.senderTexts = append(d.senderTexts, e.line(i)...)
		}
	}
	if f.isSelfConversation() { // a user who writes to itself receives the message besides its echo
		for i := range f.batchPosts {
			if p := &f.batchPosts[i]; p.sender == s && p.isMessage {
				d.senderTexts = append(d.senderTexts, e.line(i)...)
			}
		}
	}
	return d.senderTexts[start:]
}

// appendLabeled appends a line, or the first of several lines, with a label.
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

func (s *Core) appendAck(dst []byte, label string) []byte {
	return irc.AppendLine(append(append(append(dst, "@label="...), label...), ' '), s.fixed.Name, "ACK")
}

// encode returns the current batch encoded for a view. Each view is encoded once for each batch.
func (d *delivery) encode(f *conversation, v irc.View) *encodedBatch {
	e := &d.views[v]
	if e.stamp == f.batchStamp {
		return e
	}
	e.stamp, e.text, e.lineEnds = f.batchStamp, e.text[:0], e.lineEnds[:0]
	show := lineFormatter{view: v}
	for _, line := range f.batch.Lines {
		e.text = show.appendLine(e.text, "", line)
		e.lineEnds = append(e.lineEnds, len(e.text))
	}
	return e
}

var (
	ownTag     = []byte(irc.OwnTags)
	tagmsgWord = []byte("TAGMSG ")
	redactWord = []byte("REDACT ")
	emptyText  = []byte(":\r\n")
)

// lineFormatter formats consecutive lines of a log for one view.
type lineFormatter struct {
	view irc.View
	// time of a replay: a client without server-time receives each message with its time in the
	// text; zero in a live delivery
	replayTime time.Time
	// tags of the first line of a multiline message, if that line was empty and hidden; nil
	// otherwise
	hiddenFirstTags []byte
}

// appendLine appends a stored line as the view shows it, or nothing if the view cannot show it.
// Extra holds tags without "@".
func (sh *lineFormatter) appendLine(dst []byte, extra string, line log.Line) []byte {
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
	return irc.AppendView(dst, v, extra, tags, sh.stamped(line, body))
}

// stamped returns the body of a line, with the message's time in its text if the client of a replay
// would not learn the time otherwise.
func (sh *lineFormatter) stamped(line log.Line, body []byte) []byte {
	if sh.replayTime.IsZero() || sh.view&irc.ViewTime != 0 {
		return body
	}
	return irc.StampText(body, line.Time(), sh.replayTime)
}

// isCommand reports whether a line ":source COMMAND ..." has the command. Command ends in a space.
func isCommand(body, command []byte) bool {
	_, rest, _ := bytes.Cut(body, []byte{' '})
	return bytes.HasPrefix(rest, command)
}

// appendPart appends one line of a multiline message. Clients with multiline receive a batch.
// Others receive single messages: only the first has an id, and empty lines are dropped.
func (sh *lineFormatter) appendPart(dst []byte, extra string, line log.Line, p multilinePart, tags, body []byte) []byte {
	v, words := sh.view, bytes.SplitN(body, []byte{' '}, 4)
	if v&irc.ViewMultiline == 0 {
		if p.n == 0 {
			sh.hiddenFirstTags = nil
		}
		switch blank := bytes.Equal(words[3], emptyText); {
		case blank && p.n == 0:
			sh.hiddenFirstTags = bytes.Clone(tags)
			return dst
		case blank:
			return dst
		case sh.hiddenFirstTags != nil:
			tags, sh.hiddenFirstTags = sh.hiddenFirstTags, nil
		case p.n > 0:
			v &^= irc.ViewTags
		}
		return irc.AppendView(dst, v, extra, tags, sh.stamped(line, body))
	}
	if p.n == 0 {
		start := []byte(string(words[0]) + " BATCH +" + p.message + " draft/multiline " + string(words[2]) + "\r\n")
		dst = irc.AppendView(dst, v, extra, tags, start)
		body = sh.stamped(line, body)
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
