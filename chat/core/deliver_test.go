package core

import (
	"fmt"
	"testing"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/chat/log"
)

// sink is a connection that accepts all output.
type sink struct {
	writes, bytes int
	onWrite       func() // called after each write; nil: no call
	closed        bool
}

func (s *sink) Send(p []byte) bool {
	s.writes++
	s.bytes += len(p)
	if s.onWrite != nil {
		s.onWrite()
	}
	return true
}

func (s *sink) Post()                  {}
func (s *sink) Close()                 { s.closed = true }
func (s *sink) Delivered() (_, _ bool) { return true, true }
func (s *sink) CanMove() bool          { return false }

// openRoom opens a room of a service.
func openRoom(t testing.TB, s *shell, name string) (r *room) {
	t.Helper()
	err := s.runTask(func(t *Task) (err error) {
		r, err = s.openRoom(t, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// crowd opens a room with members of all kinds. The first of them have sent a message in the
// current batch.
func crowd(t testing.TB, members, senders int) (*shell, *conversation, []*sink) {
	s, err := openShell(t, Options{}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	r := openRoom(t, s, "#room")
	kinds := []irc.Caps{0, irc.CapServerTime, irc.CapMessageTags | irc.CapServerTime | irc.CapEchoMessage, irc.CapMessageTags}
	var sinks []*sink
	for i := range members {
		c := &sink{}
		m := newSession(&s.Core, c, Peer{})
		m.caps = kinds[i%len(kinds)]
		r.subscribe(m).state = live
		sinks = append(sinks, c)
		if i < senders {
			body := fmt.Sprintf(":user%d!u@host PRIVMSG #room :what was said", i)
			r.batchPosts = append(r.batchPosts, post{sender: m, isMessage: true, lastLine: true, entry: log.Entry{Time: time.Now(), Tags: "account=u", Body: body}})
			r.entries = append(r.entries, r.batchPosts[i].entry)
		}
	}
	if r.batch, err = r.log.Append(r.entries); err != nil {
		t.Fatal(err)
	}
	return s, &r.conversation, sinks
}

// sendAll does the sending part of deliver.
func sendAll(f *conversation, d *delivery) {
	f.beginDelivery(d)
	d.sendAll()
}

func TestADeliveryAllocatesNothingAndWritesOncePerMember(t *testing.T) {
	_, f, sinks := crowd(t, 64, 8)
	d := f.svc.takeDelivery()
	sendAll(f, d)
	for i, c := range sinks {
		if c.writes != 1 {
			t.Errorf("member %d: got %d writes, want 1", i, c.writes)
		}
	}
	if n := testing.AllocsPerRun(100, func() { sendAll(f, d) }); n != 0 {
		t.Errorf("a batch to 64 members: got %v allocations, want 0", n)
	}
}

// A client that leaves right after it has received a message is not replayed that message when it
// returns.
func TestASessionThatLeavesDuringADeliveryKeepsItsReadMarker(t *testing.T) {
	s, f, sinks := crowd(t, 2, 1)
	if _, err := s.accounts.Add("bob", "battery-staple", account.Member, false); err != nil {
		t.Fatal(err)
	}
	sub := f.subscriptions[1]
	sub.session.login = account.Login{Account: s.accounts.Lookup("bob")}
	sinks[1].onWrite = func() { s.withLock(func() { f.unsubscribe(sub.session) }) }
	s.runTask(func(t *Task) error { //nolint:errcheck // it returns none
		f.deliver(t)
		return nil
	})
	if at, ok := s.accounts.ReadMarker("bob", "", f.logID); !ok || at != f.batch.End {
		t.Errorf("read marker after the session left: got %d, stored %v; want %d, the end of what it was sent", at, ok, f.batch.End)
	}
}

// A stored message is not reported as lost when its delivery fails. History requests do not wait
// for the failed delivery, and clients that were not sent the message must reconnect.
func TestAnAbortedDeliveryLeavesNoGap(t *testing.T) {
	s, f, sinks := crowd(t, 3, 0)
	sinks[1].onWrite = func() { panic("a fault") }
	from := f.subscriptions[0].session
	s.withLock(func() {
		f.put(post{sender: from, isMessage: true, lastLine: true, entry: log.Entry{Time: time.Now(), Body: ":ann!a@host PRIVMSG #room :stored"}})
	})
	s.waitFor(func() bool { return from.pendingMessages == 0 })
	if n := s.Counts().NotStored; n != 0 || f.log.Committed() == 0 {
		t.Errorf("got %d messages counted as not stored and %d bytes in the log, want 0 messages and the stored line", n, f.log.Committed())
	}
	s.runTask(func(t *Task) error { // a history request: it does not wait for the aborted delivery
		f.waitDeliveredOffset(t)
		return nil
	})
	for i, want := range []bool{false, true, true} {
		if got := sinks[i].closed; got != want {
			t.Errorf("member %d was closed: %v, want %v", i, got, want)
		}
	}
}

func BenchmarkDelivery(b *testing.B) {
	_, f, _ := crowd(b, 64, 8)
	d := f.svc.takeDelivery()
	for b.Loop() {
		sendAll(f, d)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*8), "ns/delivery")
}
