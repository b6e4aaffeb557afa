package chat_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir/chat/client"
	"weir/internal/testsize"
	"weir/tcpip/netsim"
)

// TestEveryMessageIsSeenOnceByAllInOneOrder runs a chat through faults: see the package.
func TestEveryMessageIsSeenOnceByAllInOneOrder(t *testing.T) {
	netsim.Run(t, netsim.SeedRange{First: uint64(testsize.Of(t, "WEIR_FIRST_WORLD", 1)), Count: testsize.Of(t, "WEIR_CHAT_WORLDS", 6)}, func(w *netsim.World) {
		defer stopIfPlanted(w)
		n := newNetwork(w)
		n.chat = startService(w, n.server, "ann", "dan", "eve")
		time.Sleep(time.Second)
		people := []*person{
			startPerson(w, "ann", "ann@phone", overTCP(n.clients[phone])),
			startPerson(w, "ann2", "ann@laptop", overBrowser(n.clients[laptop], "the-id-of-ann-long-enough")),
			startPerson(w, "eve", "eve@tablet", overTCP(n.clients[tablet])),
			startPerson(w, "bob", "", overTCP(n.clients[office])),
			startPerson(w, "cat", "", overBrowser(n.clients[browser], "the-id-of-cat-long-enough")),
		}
		r := startRadio(w, "dan@radio", overTCP(n.clients[radioSet]))
		for i, p := range people {
			p.talk()
			if i < 3 {
				p.talkTo([]string{"eve", "eve", "ann"}[i])
			}
		}
		n.disturb()
		time.Sleep(faultyUntil - w.Elapsed())
		waitUntilAllIsSaid(w, people)
		time.Sleep(2 * time.Minute) // what is late is late now
		scrollUp(people)
		checkMarkers(w, people)
		check(w, n.chat, people, r)
	})
}

// talk schedules the messages of a person, and when it reads those of the others.
func (p *person) talk() {
	for range 6 {
		time.AfterFunc(time.Duration(2000+p.w.Rand().IntN(120_000))*time.Millisecond, p.say)
		time.AfterFunc(time.Duration(2000+p.w.Rand().IntN(120_000))*time.Millisecond, p.markRead)
	}
}

// talkTo schedules direct messages to an account.
func (p *person) talkTo(account string) {
	for range 4 {
		time.AfterFunc(time.Duration(2000+p.w.Rand().IntN(120_000))*time.Millisecond, func() { p.tell(account) })
	}
}

// sayLimit is how long after the last fault all messages may take: the longest timeouts of the
// client, the server and TCP.
const sayLimit = 15 * time.Minute

// waitUntilAllIsSaid waits until the server has acknowledged all messages.
func waitUntilAllIsSaid(w *netsim.World, people []*person) {
	for end := w.Elapsed() + sayLimit; w.Elapsed() < end; time.Sleep(time.Second) {
		if !slices.ContainsFunc(people, func(p *person) bool { return len(p.unsent()) > 0 }) {
			return
		}
	}
	for _, p := range people {
		if unsent := p.unsent(); len(unsent) > 0 {
			w.Errorf("%s: got the unacknowledged messages %q after %v without a fault, want none", p.name, unsent, sayLimit)
		}
	}
}

// scrollUp loads the older messages. A client whose connection broke before it had the first page
// of a conversation, which was empty then, begins with the latest page.
func scrollUp(people []*person) {
	for range 20 {
		for _, p := range people {
			p.do(func(*client.Conversation) {
				for _, v := range p.client.Conversations() {
					p.client.LoadOlder(v)
				}
			})
		}
		time.Sleep(time.Second)
	}
}

// checkMarkers checks that the devices of an account agree on which messages were read. Their times
// may differ: a client also shows events that the log does not have.
func checkMarkers(w *netsim.World, people []*person) {
	a, b := people[0], people[1]
	if unread, other := a.unread(), b.unread(); !slices.Equal(unread, other) {
		w.Errorf("got the unread messages %q of %s and %q of %s, want the same of both devices", unread, a.name, other, b.name)
	}
}

// check compares what the clients have with the logs.
func check(w *netsim.World, s *service, people []*person, r *radio) {
	s.halt()
	inRoom, direct := s.stored(room), s.stored("ann,eve")
	for i, p := range people {
		checkLog(w, p.name, inRoom, p.name+" says ", p.said, p.shown(room))
		if i < 3 {
			other := []string{"eve", "eve", "ann"}[i]
			checkLog(w, p.name, direct, p.name+" tells ", p.sentTo, p.shown(other))
		}
	}
	heard := r.heard()
	for _, m := range inRoom {
		if heard[m.id] != m.text {
			w.Errorf("the radio has not received %q, want all of the log", m.text)
		}
	}
}

// checkLog compares a log with what a client has sent, with texts that start with a prefix, and
// with what it shows.
func checkLog(w *netsim.World, name string, stored []message, prefix string, sent, shown []string) {
	var texts, own []string
	for _, m := range stored {
		texts = append(texts, m.text)
		if strings.HasPrefix(m.text, prefix) {
			own = append(own, m.text)
		}
	}
	if !slices.Equal(own, sent) {
		w.Errorf("the log has %q of %s, want %q: each once, in this order", own, name, sent)
	}
	if !slices.Equal(shown, texts) {
		w.Errorf("%s shows\n%q, want the log\n%q", name, shown, texts)
	}
}
