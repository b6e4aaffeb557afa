package chat

import (
	"weir/chat/irc"
	"weir/chat/log"
	"weir/serve"
)

const (
	// maxReplayBytes bounds the replay of one room, so that it fits into the outbox of a client
	// that has read nothing yet.
	maxReplayBytes = Outbox / 4
	// minReplayBytes is replayed in each of many rooms even if the client has not read the replay
	// of the first ones.
	minReplayBytes = log.MaxLine
)

// replayBudget returns how many bytes of a room may be replayed now. A client that rejoins many
// rooms must not be disconnected as too slow because of its replays.
func (s *session) replayBudget() int {
	if sent, _ := serve.Delivered(s.conn); sent {
		s.replayedBytes.Store(0)
	}
	return min(maxReplayBytes, max(minReplayBytes, Outbox/2-int(s.replayedBytes.Load())))
}

// catchUp replays to a new subscription and makes it live. A client without chathistory is first
// sent the messages that its device missed. Every client is then sent the messages delivered since
// it subscribed, the topic and the names. From then on, deliveries include it. It runs on a worker.
// The receiver may be the reply collector of the subscription's session.
func (s *session) catchUp(sub *subscription) {
	f := sub.conversation
	s.svc.mu.Lock()
	// a delivery may be writing to this session, through an earlier subscription
	f.waitDeliveredLocked()
	if r := f.room; r != nil {
		s.sendTopic(r)
	}
	upTo := sub.sentUpTo.Load() // the last delivery before it subscribed
	s.svc.unlockAndCommit()
	if !s.has(irc.CapChathistory) {
		s.replay(sub, upTo)
	}
	s.sendReadMarker(f)
	renameLine, show := f.renamer(), lineFormatter{}
	for {
		s.svc.mu.Lock()
		if f.deliveredOffset <= upTo || sub.session.ownership == closedDuringJob || sub.state == unsubscribed {
			break
		}
		now := f.deliveredOffset
		s.svc.unlockAndCommit()
		limit := s.svc.options().MaxReplay
		lines := s.linesBetween(f, upTo, now, limit)
		for _, line := range lines {
			show.view = s.capSet().View()
			s.replies = show.appendLine(s.replies, "", renameLine(line))
		}
		if upTo = now; len(lines) == limit { // there may be more lines
			last := lines[len(lines)-1]
			upTo = last.Offset() + int64(len(last))
		}
	}
	defer s.svc.unlockAndCommit()
	// left or kicked meanwhile
	if sub.session.ownership == closedDuringJob || sub.state == unsubscribed {
		return
	}
	if r := f.room; r != nil && !s.has(irc.CapNoImplicitNames) {
		s.sendNames(r)
	}
	if s.flushRepliesLocked() {
		sub.sentUpTo.Store(upTo)
		sub.state = live
	} else {
		s.svc.closeSlow(s)
	}
}

// waitDeliveredLocked waits until no delivery of the conversation is writing. The caller holds mu.
func (f *conversation) waitDeliveredLocked() {
	for f.delivering {
		f.svc.deliveryDone.Wait()
	}
}

// waitDeliveredOffset waits for a running delivery and returns the offset up to which all
// subscribers were sent everything. No subscriber was sent anything beyond it.
func (f *conversation) waitDeliveredOffset() int64 {
	f.svc.mu.Lock()
	defer f.svc.mu.Unlock()
	f.waitDeliveredLocked()
	return f.deliveredOffset
}

// replay sends the messages before an offset that the session's device missed.
func (s *session) replay(sub *subscription, upTo int64) {
	f := sub.conversation
	lines, err := f.completeMessages(dropOldest(s.missedLines(f, upTo), sub.session.replayBudget()))
	s.logReadError(f, err)
	if len(lines) == 0 {
		return
	}
	caps, extra, id := s.capSet(), "", ""
	if caps.Has(irc.CapBatch) {
		id = s.svc.newBatchID()
		extra = "batch=" + id
		s.reply("BATCH", "+"+id, "chathistory", f.nameFor(s))
	}
	renameLine, show, before := f.renamer(), lineFormatter{view: caps.View(), replayTime: s.svc.fixed.Now()}, len(s.replies)
	for _, line := range lines {
		s.replies = show.appendLine(s.replies, extra, renameLine(line))
	}
	sub.session.replayedBytes.Add(int64(len(s.replies) - before))
	if id != "" {
		s.reply("BATCH", "-"+id)
	}
	s.svc.counters.replayed.Add(int64(len(lines)))
}

// missedLines returns the lines before upTo that the session's device has not received, the newest
// if there are too many. A guest, or a device that is new to the room, has no read marker. It gets
// the last unmarkedReplay lines.
func (s *session) missedLines(f *conversation, upTo int64) []log.Line {
	from, marked := int64(0), false
	if s.login.Account != nil {
		from, marked = s.svc.accounts.ReadMarker(s.login.Name, s.login.Device, f.logID)
	}
	if !marked {
		return s.latestLines(f, min(unmarkedReplay, s.svc.options().MaxReplay), upTo)
	}
	lines := s.latestLines(f, s.svc.options().MaxReplay, upTo)
	for len(lines) > 0 && lines[0].Offset() < from {
		lines = lines[1:]
	}
	return lines
}

// unmarkedReplay is the number of lines replayed to a client without a read marker.
const unmarkedReplay = 50

// dropOldest drops lines from the start until the rest has at most so many bytes.
func dropOldest(lines []log.Line, limit int) []log.Line {
	size := 0
	for i := len(lines) - 1; i >= 0; i-- {
		if size += len(lines[i]); size > limit {
			return lines[i+1:]
		}
	}
	return lines
}

// latestLines returns the newest n lines before an offset.
func (s *session) latestLines(f *conversation, n int, before int64) []log.Line {
	lines, err := f.log.Latest(n, before)
	s.logReadError(f, err)
	return lines
}

// linesBetween returns the first n lines from one offset to another.
func (s *session) linesBetween(f *conversation, from, before int64, n int) []log.Line {
	lines, err := f.log.After(from, n)
	s.logReadError(f, err)
	for i, line := range lines {
		if line.Offset() >= before {
			return lines[:i]
		}
	}
	return lines
}

func (s *session) logReadError(f *conversation, err error) {
	if err != nil {
		s.svc.fixed.Log.Error("a log cannot be read", "log", f.logID, "error", err)
	}
}

// saveReadMarkers stores the read markers of all subscriptions whose client has acknowledged
// everything it was sent.
func (s *Service) saveReadMarkers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rooms {
		for _, sub := range r.subscriptions {
			s.saveReadMarkerLocked(sub, ifAcknowledged)
		}
	}
	for _, f := range s.directs {
		for _, sub := range f.subscriptions {
			s.saveReadMarkerLocked(sub, ifAcknowledged)
		}
	}
}

// markerCondition is what must have happened to all output of a session before its read markers are
// stored.
type markerCondition uint8

const (
	// ifWritten: no output is queued in this process. It suffices when a session leaves.
	ifWritten markerCondition = iota
	// ifAcknowledged: the client's system has acknowledged all of it, too. While a session goes on,
	// messages lost in flight must be replayed after its connection breaks.
	ifAcknowledged
)

// saveReadMarkerLocked stores how far the subscription's device has read, if its session has an
// account and the condition holds. The caller holds mu.
func (s *Service) saveReadMarkerLocked(sub *subscription, condition markerCondition) {
	login, seen := sub.session.login, sub.sentUpTo.Load()
	if login.Account == nil || seen == sub.savedMarker || sub.state == catchingUp || sub.session.outputLost {
		return
	}
	if written, acked := serve.Delivered(sub.session.conn); !written || condition == ifAcknowledged && !acked {
		return
	}
	sub.savedMarker = seen
	s.accounts.SetReadMarker(login.Name, login.Device, sub.conversation.logID, seen)
}
