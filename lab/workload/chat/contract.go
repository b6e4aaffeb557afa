package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/lab/contract"
)

// Contract is the contract of chat servers: a message in a room is sent to all other members once
// and in order, whatever some of them do, and to no other client.
var Contract = contract.Kind{
	Workloads: []string{"chat"},
	Prepare:   func(b *contract.Bench) { b.State = &bench{Bench: b} },
	Output:    contract.NoOutput,
	Checks:    checks,
}

var checks = []contract.Check{
	{Name: "registration", Shares: true, Run: contract.On(registration)},
	{Name: "nick in use", Shares: true, Run: contract.On(nickInUse)},
	{Name: "fan-out", Shares: true, Run: contract.On(fanOut)},
	{Name: "order", Shares: true, Run: contract.On(inOrder)},
	{Name: "64 members", Shares: true, Run: contract.On(allSending)},
	{Name: "burst", Shares: true, Run: contract.On(oneBurst)},
	{Name: "NUL", Shares: true, Run: contract.On(nulInText)},
	{Name: "split lines", Shares: true, Run: contract.On(splitLines)},
	{Name: "broken connections", Shares: true, Run: contract.On(brokenConnections)},
	{Name: "slow member", Shares: true, Run: contract.On(slowMember)},
	{Name: "SIGTERM while talking", Full: true, Run: contract.On(endWhileTalking)},
}

// bench is one chat server under the checks of a round.
type bench struct {
	*contract.Bench
	namesUsed int // number of nicks and rooms used
}

// registration checks that NICK and USER, also within a CAP negotiation, are answered by 001 and
// the end of the message of the day, and that PING is answered by PONG with its argument.
func registration(b *bench) {
	b.register().expectSilence()
	capable := b.connect()
	capable.write("CAP LS 302\r\n" + capable.introduction())
	capable.readUntil("an answer to CAP LS", "CAP")
	capable.write("CAP END\r\n")
	capable.expectWelcome()
}

// nickInUse checks that a nick in use is not given to a second client.
func nickInUse(b *bench) {
	first, second := b.register(), b.connect()
	second.write("NICK " + first.nick + "\r\nUSER x 0 * :x\r\n")
	for {
		got := second.next("433 for a nick that is taken")
		contract.Expect(got.command != "001", "a nick that is taken: expected 433, saw %q", got.line)
		if got.command == "433" {
			first.expectSilence()
			return
		}
	}
}

// fanOut checks that a message in a room is sent once to each other member, and to no other client.
func fanOut(b *bench) {
	all, room := b.joinMembers(4)
	other, _ := b.joinMembers(1)
	for i, sender := range all {
		text := fmt.Sprintf("message %d, with: colons and  two blanks", i)
		sender.say(room, text)
		for _, t := range all {
			if t != sender {
				t.expectMessages(sender, room, text)
			}
		}
	}
	for _, t := range append(all, other...) {
		t.expectSilence()
	}
}

// messageLines returns n texts, and the lines that send them.
func messageLines(n int, room string) (texts []string, said string) {
	var b strings.Builder
	for i := range n {
		text := fmt.Sprintf("%05d %s", i, strings.Repeat("x", 60+i%20))
		texts = append(texts, text)
		b.WriteString(privmsg(room, text))
	}
	return texts, b.String()
}

// inOrder checks that one member's messages arrive at the others in order, however they are cut
// into segments.
func inOrder(b *bench) {
	const messages, cut = 400, 1700
	all, room := b.joinMembers(3)
	texts, said := messageLines(messages, room)
	contract.InParallel(len(all), func(i int) {
		if i > 0 {
			all[i].expectMessages(all[0], room, texts...)
			return
		}
		for piece := range slices.Chunk([]byte(said), cut) {
			all[0].write(string(piece))
		}
	})
}

// allSending checks 64 members that send ten messages each at the same time: each receives all
// messages of the others, in the order of each sender.
func allSending(b *bench) {
	const members, messages = 64, 10
	all, room := b.joinMembers(members)
	contract.InParallel(2*members, func(i int) {
		t := all[i/2]
		if i%2 == 1 {
			t.expectFromAll(all, messages)
			return
		}
		for n := range messages {
			t.say(room, fmt.Sprint(n))
		}
	})
}

// expectFromAll expects the numbers from 0 on from each other member, in order.
func (t *client) expectFromAll(all []*client, messages int) {
	next := map[string]int{}
	for _, other := range all {
		next[other.nick] = 0
	}
	delete(next, t.nick)
	for n := range len(next) * messages {
		got := t.nextMessage(fmt.Sprintf("%d messages of the others, saw %d", len(next)*messages, n))
		want, known := next[got.source]
		contract.Expect(known && got.text == fmt.Sprint(want), "%s: expected message %d of %s, saw %.120q", t.nick, want, got.source, got.line)
		next[got.source]++
	}
}

// oneBurst checks that 19 kB in one segment are delivered at once, including the last message, with
// no later input to trigger it.
func oneBurst(b *bench) {
	all, room := b.joinMembers(2)
	texts, said := messageLines(200, room)
	all[0].write(said)
	contract.During(fmt.Sprintf("%d bytes in one write", len(said)), func() { all[1].expectMessages(all[0], room, texts...) })
}

// nulInText checks that a NUL in a message causes no message that was not sent, and does not
// disturb other members. The server may drop the message, and close the connection that sent it.
func nulInText(b *bench) {
	all, room := b.joinMembers(3)
	all[0].say(room, "before\x00after")
	// the server may have closed the connection
	_ = contract.Try(func() { all[0].say(room, "and on") })
	all[1].say(room, "still here")
	all[2].expectAfterNUL(all[0], all[1])
}

// pingTimeout is how long a server may take to answer a PING after half a second of silence.
const pingTimeout = 10 * time.Second

// expectAfterNUL reads the messages of the member that sent a NUL until that member continues,
// leaves, or is silent for half a second. It also expects the message of the other member.
func (t *client) expectAfterNUL(strange, other *client) {
	for over, here := false, false; !over || !here; {
		got, err := t.readLine()
		switch text := got.text; {
		case err != nil && here:
			contract.Must(t.SetDeadline(time.Now().Add(pingTimeout)))
			t.expectSilence()
			return
		case err != nil:
			contract.Failf("%s: expected what was said after a text with a NUL: %w", t.nick, err)
		case got.source == strange.nick:
			over = got.command == "QUIT" || text == "and on"
			if got.command == "PRIVMSG" && !over && !slices.Contains([]string{"before\x00after", "beforeafter", "before after", "before"}, text) {
				contract.Failf("%s: expected of a text with a NUL what was said, saw %q", t.nick, got.line)
			}
		case got.source == other.nick && got.command == "PRIVMSG":
			here = text == "still here"
			contract.Expect(here, "%s: expected what %s said, saw %q", t.nick, other.nick, got.line)
			contract.Must(t.SetReadDeadline(time.Now().Add(500 * time.Millisecond)))
		}
	}
}

// splitLines checks that lines may arrive in any number of segments, several in one segment, and
// may end in LF alone.
func splitLines(b *bench) {
	listeners, room := b.joinMembers(1)
	t := b.connect()
	t.writeSingly(t.introduction())
	contract.During("a registration in single bytes", t.expectWelcome)
	t.writeSingly("JOIN " + room + "\r\n")
	t.readUntil("the end of the names after a JOIN in single bytes", "366")
	t.writeSingly(privmsg(room, "one by one") + "PRIVMSG " + room)
	t.write(" :the second\n" + privmsg(room, "the third"))
	listeners[0].expectMessages(t, room, "one by one", "the second", "the third")
}
