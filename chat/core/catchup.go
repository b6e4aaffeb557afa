package core

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/chat/log"
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
func (s *Session) replayBudget() int {
	if sent, _ := s.conn.Delivered(); sent {
		s.replayedBytes = 0
	}
	return min(maxReplayBytes, max(minReplayBytes, Outbox/2-s.replayedBytes))
}

// catchUp replays to a new subscription and makes it live. A client without chathistory is first
// sent the messages that its device missed. Every client is then sent the messages delivered since
// it subscribed, the topic and the names. From then on, deliveries include it. It reports whether
// the subscription is live now: otherwise it has ended, or its connection is being closed. It is a
// task. The receiver may be the reply collector of the subscription's session.
func (s *Session) catchUp(sub *subscription) (isLive bool) {
	f := sub.conversation
	// a delivery may be writing to this session, through an earlier subscription
	f.waitDelivered(s.task)
	if r := f.room; r != nil {
		s.sendTopic(r)
	}
	upTo := sub.sentUpTo // the last delivery before it subscribed
	if !s.has(irc.CapChathistory) {
		s.replay(sub, upTo)
	}
	s.sendReadMarker(f)
	for f.deliveredOffset > upTo && sub.isWanted() {
		upTo = s.replayDelivered(sub, upTo)
	}
	if !sub.isWanted() {
		return false
	}
	if r := f.room; r != nil && !s.has(irc.CapNoImplicitNames) {
		s.sendNames(r)
	}
	if !s.flushReplies() {
		s.svc.closeSlow(s)
		return false
	}
	sub.sentUpTo = upTo
	subscriptionLife.move(&sub.state, live)
	f.idleWaiters.wake()
	return true
}

// isWanted reports whether the session is connected and has not left, or been kicked.
func (sub *subscription) isWanted() bool {
	return sub.session.ownership != closedDuringTask && sub.state != unsubscribed
}

// replayDelivered replays messages that were delivered since the session subscribed. It returns the
// offset up to which it did. It is a task.
func (s *Session) replayDelivered(sub *subscription, from int64) (upTo int64) {
	f, limit := sub.conversation, s.svc.Options().MaxReplay
	upTo = f.deliveredOffset
	renameLine, show := f.renamer(), lineFormatter{view: s.caps.View()}
	var text []byte
	before := upTo
	var err error
	s.task.await(func() {
		var lines []log.Line
		lines, err = f.linesBetween(from, before, limit)
		for _, line := range lines {
			text = show.appendLine(text, "", renameLine(line))
		}
		if len(lines) == limit { // there may be more lines
			last := lines[len(lines)-1]
			upTo = last.Offset() + int64(len(last))
		}
	})
	s.replies = append(s.replies, text...)
	s.noteGap(sub, err)
	return upTo
}

// waitDelivered waits until no delivery of the conversation is writing. No subscriber was then sent
// anything beyond deliveredOffset.
func (f *conversation) waitDelivered(t *Task) {
	for f.delivery != nil {
		f.deliveryWaiters.wait(t)
	}
}

// waitDeliveredOffset waits for a running delivery and returns the offset up to which all
// subscribers were sent everything. No subscriber was sent anything beyond it.
func (f *conversation) waitDeliveredOffset(t *Task) int64 {
	f.waitDelivered(t)
	return f.deliveredOffset
}

// replay sends the messages before an offset that the session's device missed. It is a task.
func (s *Session) replay(sub *subscription, upTo int64) {
	f, budget, id, extra := sub.conversation, sub.session.replayBudget(), "", ""
	if s.has(irc.CapBatch) {
		id = s.svc.newBatchID()
		extra = "batch=" + id
	}
	missed := s.missedLines(f, upTo)
	renameLine, show := f.renamer(), lineFormatter{view: s.caps.View(), replayTime: s.svc.now}
	var text []byte
	var err error
	n := 0
	s.task.await(func() {
		lines, missing := missed()
		lines, err = f.completeMessages(dropOldest(lines, budget))
		err = errors.Join(missing, err)
		for _, line := range lines {
			text = show.appendLine(text, extra, renameLine(line))
		}
		n = len(lines)
	})
	s.noteGap(sub, err)
	if n == 0 {
		return
	}
	if id != "" {
		s.reply("BATCH", "+"+id, "chathistory", f.nameFor(s))
	}
	s.replies = append(s.replies, text...)
	sub.session.replayedBytes += len(text)
	if id != "" {
		s.reply("BATCH", "-"+id)
	}
	s.svc.counts.Replayed += int64(n)
}

// noteGap records that a subscription was not sent all that it missed, because the log could not be
// read. Its read marker stays where it is, so that the next session of the device is sent it.
func (s *Session) noteGap(sub *subscription, err error) {
	if err == nil {
		return
	}
	sub.conversation.logReadError(err)
	sub.hasGap = true
	s.reply("NOTICE", s.nick(), "Messages of "+sub.conversation.nameFor(s)+" that you missed could not be read: to see them, connect again later")
}

// missedLines returns a job that returns the lines before upTo that the session's device has not
// received, the newest if there are too many. A guest, or a device that is new to the room, has no
// read marker. It gets the last unmarkedReplay lines.
func (s *Session) missedLines(f *conversation, upTo int64) func() ([]log.Line, error) {
	login, limit := s.login, s.svc.Options().MaxReplay
	return func() ([]log.Line, error) {
		from, marked := int64(0), false
		if login.Account != nil {
			from, marked = f.svc.env.Accounts.ReadMarker(login.Name, login.Device, f.logID)
		}
		if !marked {
			return f.log.Latest(min(unmarkedReplay, limit), upTo)
		}
		lines, err := f.log.Latest(limit, upTo)
		for len(lines) > 0 && lines[0].Offset() < from {
			lines = lines[1:]
		}
		return lines, err
	}
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

// linesBetween returns the first n lines from one offset to another. It waits for the disk.
func (f *conversation) linesBetween(from, before int64, n int) ([]log.Line, error) {
	lines, err := f.log.After(from, n)
	for i, line := range lines {
		if line.Offset() >= before {
			return lines[:i], err
		}
	}
	return lines, err
}

func (f *conversation) logReadError(err error) {
	if err != nil {
		f.svc.fixed.Log.Error("a log cannot be read", "log", f.logID, "error", err)
	}
}

// SaveReadMarkers stores the read markers of all subscriptions whose client has acknowledged
// everything it was sent.
func (s *Core) SaveReadMarkers() {
	for _, r := range s.rooms {
		for _, sub := range r.subscriptions {
			s.saveReadMarker(sub, ifAcknowledged)
		}
	}
	for _, f := range s.directs {
		for _, sub := range f.subscriptions {
			s.saveReadMarker(sub, ifAcknowledged)
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

// saveReadMarker stores how far the subscription's device has read, if its session has an
// account and the condition holds.
func (s *Core) saveReadMarker(sub *subscription, condition markerCondition) {
	login, seen := sub.session.login, sub.sentUpTo
	if login.Account == nil || seen == sub.savedMarker || sub.state == catchingUp || sub.hasGap || sub.session.outputLost {
		return
	}
	if written, acked := sub.session.conn.Delivered(); !written || condition == ifAcknowledged && !acked {
		return
	}
	sub.savedMarker = seen
	s.env.Accounts.SetReadMarker(login.Name, login.Device, sub.conversation.logID, seen)
}

// parseInt parses an offset.
func parseInt(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// The read marker of MARKREAD (draft/read-marker) belongs to an account and is shared by all its
// clients. It is stored beside the read markers of the account's devices. Guests have none.

// markerCost is the number of commands that a MARKREAD with a time counts as: it needs two fsyncs,
// of file and folder, where a message needs one.
const markerCost = 2

func (s *Session) cmdMarkRead(m *irc.Message) {
	target := irc.Param(m, 0)
	switch {
	case target == "":
		s.fail("MARKREAD", "NEED_MORE_PARAMS", "Missing parameters")
	case s.login.Account == nil:
		s.fail("MARKREAD", "ACCOUNT_REQUIRED", "You have to log in")
	default:
		if irc.Param(m, 1) != "" {
			s.charge(markerCost - 1)
		}
		s.startTask(func() { s.setReadMarker(target, irc.Param(m, 1)) })
	}
}

// setReadMarker sets or gets the marker. It is a task.
func (s *Session) setReadMarker(target, value string) {
	f, err := s.readableConversation(target)
	if err != nil {
		s.fail("MARKREAD", "INVALID_PARAMS", irc.Cut(target, irc.MaxRoom), "Join the room first, or name an account with which you have direct messages")
		return
	}
	stamp, given := strings.CutPrefix(value, "timestamp=")
	at, parseErr := time.Parse(time.RFC3339Nano, stamp)
	if value != "" && (!given || parseErr != nil) {
		s.fail("MARKREAD", "INVALID_PARAMS", irc.Cut(target, irc.MaxRoom), "A marker is timestamp=YYYY-MM-DDThh:mm:ss.sssZ")
		return
	}
	login, marker := s.login, ""
	s.task.await(func() {
		if value != "" {
			err = f.saveReadMarker(login, at)
		}
		marker = f.readMarkerOf(login)
	})
	if err != nil {
		s.svc.fixed.Log.Error("a read marker cannot be written", "account", login.Name, "error", err)
		s.fail("MARKREAD", "INTERNAL_ERROR", irc.Cut(target, irc.MaxRoom), "The marker was not stored, and stays where it is: "+publicError(err))
		return
	}
	line := s.readMarkerLine(f, marker)
	s.replies = append(s.replies, line...)
	if value == "" || s.user == nil {
		return
	}
	for _, other := range s.user.sessions {
		if other != s && other.has(irc.CapReadMarker) {
			other.conn.Send(line)
		}
	}
}

// saveReadMarker stores the marker of an account at a time. It waits for the disk.
func (f *conversation) saveReadMarker(login account.Login, at time.Time) error {
	offset, err := f.log.Seek(at.Truncate(time.Millisecond).Add(time.Millisecond))
	f.logReadError(err)
	return f.svc.env.Accounts.SaveReadMarker(login.Name, account.SharedDevice, f.logID, offset)
}

// readMarkerLine returns a MARKREAD line.
func (s *Session) readMarkerLine(f *conversation, marker string) []byte {
	return irc.AppendLine(nil, s.svc.fixed.Name, "MARKREAD", f.nameFor(s), marker)
}

// readMarkerOf returns the marker of a login as MARKREAD shows it: "*" for none or a guest. It
// waits for the disk.
func (f *conversation) readMarkerOf(login account.Login) string {
	if login.Account == nil {
		return "*"
	}
	if offset, ok := f.svc.env.Accounts.ReadMarker(login.Name, account.SharedDevice, f.logID); ok && offset > 0 {
		if lines, err := f.log.Latest(1, offset); err == nil && len(lines) == 1 {
			return "timestamp=" + lines[0].Time().UTC().Format(irc.TimeFormat)
		}
	}
	return "*"
}

// readMarkersByAccount returns the markers of the accounts in a room, for clients that support read
// markers but not RENAME: they see a part and a join. It is a task.
func (r *room) readMarkersByAccount(t *Task) map[string]string {
	logins := map[string]account.Login{}
	for _, sub := range r.subscriptions {
		if to := sub.session; to.user != nil && to.user.account != "" && to.has(irc.CapReadMarker) && !to.has(irc.CapRename) {
			logins[to.user.account] = to.login
		}
	}
	all := map[string]string{"": "*"}
	t.await(func() {
		for name, login := range logins {
			all[name] = r.readMarkerOf(login)
		}
	})
	return all
}

// sendReadMarker sends the marker of a room that the session joins, if the client supports it. It
// is a task.
func (s *Session) sendReadMarker(f *conversation) {
	if f.room != nil && s.has(irc.CapReadMarker) {
		login, marker := s.login, "*"
		if login.Account != nil {
			s.task.await(func() { marker = f.readMarkerOf(login) })
		}
		s.replies = append(s.replies, s.readMarkerLine(f, marker)...)
	}
}
