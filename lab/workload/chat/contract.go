package chat

import (
	"errors"
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
	Prepare: func(b *contract.Bench) error {
		b.State = &bench{Bench: b}
		return nil
	},
	Output: contract.NoOutput,
	Checks: checks,
}

var checks = []contract.Check{
	{Name: "registration", Shares: true, Run: on(registration)},
	{Name: "nick in use", Shares: true, Run: on(nickInUse)},
	{Name: "fan-out", Shares: true, Run: on(fanOut)},
	{Name: "order", Shares: true, Run: on(inOrder)},
	{Name: "64 members", Shares: true, Run: on(allSending)},
	{Name: "burst", Shares: true, Run: on(oneBurst)},
	{Name: "NUL", Shares: true, Run: on(nulInText)},
	{Name: "split lines", Shares: true, Run: on(splitLines)},
	{Name: "broken connections", Shares: true, Run: on(brokenConnections)},
	{Name: "slow member", Shares: true, Run: on(slowMember)},
	{Name: "SIGTERM while talking", Full: true, Run: on(endWhileTalking)},
}

// bench is one chat server under the checks of a round.
type bench struct {
	*contract.Bench
	namesUsed int // number of nicks and rooms used
}

// on converts a check.
func on(run func(*bench) error) func(*contract.Bench) error {
	return func(b *contract.Bench) error { return run(b.State.(*bench)) }
}

// registration checks that NICK and USER, also within a CAP negotiation, are answered by 001 and
// the end of the message of the day, and that PING is answered by PONG with its argument.
func registration(b *bench) error {
	plainly, err := b.register()
	if err != nil {
		return err
	}
	if err := plainly.expectSilence(); err != nil {
		return err
	}
	capable, err := b.connect()
	if err != nil {
		return err
	}
	if err := capable.writeText("CAP LS 302\r\nNICK %s\r\nUSER %s 0 * :%s\r\n", capable.nick, capable.nick, capable.nick); err != nil {
		return err
	}
	if _, err := capable.readUntil("an answer to CAP LS", "CAP"); err != nil {
		return err
	}
	if err := capable.writeText("CAP END\r\n"); err != nil {
		return err
	}
	return capable.expectWelcome()
}

// nickInUse checks that a nick in use is not given to a second client.
func nickInUse(b *bench) error {
	first, err := b.register()
	if err != nil {
		return err
	}
	second, err := b.connect()
	if err != nil {
		return err
	}
	if err := second.writeText("NICK %s\r\nUSER x 0 * :x\r\n", first.nick); err != nil {
		return err
	}
	for {
		got, err := second.readLine()
		switch {
		case err != nil:
			return fmt.Errorf("a nick that is taken: expected 433: %w", err)
		case got.command == "001":
			return fmt.Errorf("a nick that is taken: expected 433, saw %q", got.line)
		case got.command == "433":
			return first.expectSilence()
		}
	}
}

// fanOut checks that a message in a room is sent once to each other member, and to no other client.
func fanOut(b *bench) error {
	room, elsewhere := "#"+b.newName(), "#"+b.newName()
	all, err := b.joinMembers(4, room)
	if err != nil {
		return err
	}
	other, err := b.joinMembers(1, elsewhere)
	if err != nil {
		return err
	}
	for i, sender := range all {
		text := fmt.Sprintf("message %d, with: colons and  two blanks", i)
		if err := sender.writeText("PRIVMSG %s :%s\r\n", room, text); err != nil {
			return err
		}
		for _, t := range all {
			if t == sender {
				continue
			}
			if err := t.expectMessages(sender, room, text); err != nil {
				return err
			}
		}
	}
	for _, t := range append(all, other...) {
		if err := t.expectSilence(); err != nil {
			return err
		}
	}
	return nil
}

// messageLines returns n texts, and the lines that send them.
func messageLines(n int, room string) (texts []string, said string) {
	var b strings.Builder
	for i := range n {
		text := fmt.Sprintf("%05d %s", i, strings.Repeat("x", 60+i%20))
		texts = append(texts, text)
		fmt.Fprintf(&b, "PRIVMSG %s :%s\r\n", room, text)
	}
	return texts, b.String()
}

// inOrder checks that one member's messages arrive at the others in order, however they are cut
// into segments.
func inOrder(b *bench) error {
	const messages, cut = 400, 1700
	room := "#" + b.newName()
	all, err := b.joinMembers(3, room)
	if err != nil {
		return err
	}
	texts, said := messageLines(messages, room)
	return contract.InParallel(len(all), func(i int) error {
		if i > 0 {
			return all[i].expectMessages(all[0], room, texts...)
		}
		for rest := said; rest != ""; {
			n := min(cut, len(rest))
			if err := all[0].writeText("%s", rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
}

// allSending checks 64 members that send ten messages each at the same time: each receives all
// messages of the others, in the order of each sender.
func allSending(b *bench) error {
	const members, messages = 64, 10
	room := "#" + b.newName()
	all, err := b.joinMembers(members, room)
	if err != nil {
		return err
	}
	return contract.InParallel(2*members, func(i int) error {
		t := all[i/2]
		if i%2 == 1 {
			return t.expectFromAll(all, messages)
		}
		for n := range messages {
			if err := t.writeText("PRIVMSG %s :%d\r\n", room, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// expectFromAll expects the numbers from 0 on from each other member, in order.
func (t *chatClient) expectFromAll(all []*chatClient, messages int) error {
	next := map[string]int{}
	for _, other := range all {
		next[other.nick] = 0
	}
	delete(next, t.nick)
	for n := range len(next) * messages {
		got, err := t.readMessage()
		if err != nil {
			return fmt.Errorf("%s: expected %d messages of the others, saw %d: %w", t.nick, len(next)*messages, n, err)
		}
		want, known := next[got.source]
		if !known || got.last() != fmt.Sprint(want) {
			return fmt.Errorf("%s: expected message %d of %s, saw %.120q", t.nick, want, got.source, got.line)
		}
		next[got.source]++
	}
	return nil
}

// oneBurst checks that 19 kB in one segment are delivered at once, including the last message, with
// no later input to trigger it.
func oneBurst(b *bench) error {
	room := "#" + b.newName()
	all, err := b.joinMembers(2, room)
	if err != nil {
		return err
	}
	texts, said := messageLines(200, room)
	if err := all[0].writeText("%s", said); err != nil {
		return err
	}
	if err := all[1].expectMessages(all[0], room, texts...); err != nil {
		return fmt.Errorf("%d bytes in one write: %w", len(said), err)
	}
	return nil
}

// nulInText checks that a NUL in a message causes no message that was not sent, and does not
// disturb other members. The server may drop the message, and close the connection that sent it.
func nulInText(b *bench) error {
	room := "#" + b.newName()
	all, err := b.joinMembers(3, room)
	if err != nil {
		return err
	}
	if err := all[0].writeText("PRIVMSG %s :before\x00after\r\n", room); err != nil {
		return err
	}
	// the server may have closed the connection
	_ = all[0].writeText("PRIVMSG %s :and on\r\n", room)
	if err := all[1].writeText("PRIVMSG %s :still here\r\n", room); err != nil {
		return err
	}
	return all[2].expectAfterNUL(all[0], all[1])
}

// pingTimeout is how long a server may take to answer a PING after half a second of silence.
const pingTimeout = 10 * time.Second

// expectAfterNUL reads the messages of the member that sent a NUL until that member continues,
// leaves, or is silent for half a second. It also expects the message of the other member.
func (t *chatClient) expectAfterNUL(strange, other *chatClient) error {
	for over, here := false, false; !over || !here; {
		got, err := t.readLine()
		switch text := got.last(); {
		case err != nil && here:
			return errors.Join(t.SetDeadline(time.Now().Add(pingTimeout)), t.expectSilence())
		case err != nil:
			return fmt.Errorf("%s: expected what was said after a text with a NUL: %w", t.nick, err)
		case got.source == strange.nick:
			over = got.command == "QUIT" || text == "and on"
			if got.command == "PRIVMSG" && !over && !slices.Contains([]string{"before\x00after", "beforeafter", "before after", "before"}, text) {
				return fmt.Errorf("%s: expected of a text with a NUL what was said, saw %q", t.nick, got.line)
			}
		case got.source == other.nick && got.command == "PRIVMSG":
			if here = text == "still here"; !here {
				return fmt.Errorf("%s: expected what %s said, saw %q", t.nick, other.nick, got.line)
			}
			if err := t.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil && !over {
				return err
			}
		}
	}
	return nil
}

// splitLines checks that lines may arrive in any number of segments, several in one segment, and
// may end in LF alone.
func splitLines(b *bench) error {
	room := "#" + b.newName()
	listener, err := b.joinMembers(1, room)
	if err != nil {
		return err
	}
	t, err := b.connect()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("NICK %s\r\nUSER %s 0 * :%s\r\n", t.nick, t.nick, t.nick)
	if err := t.bySingleBytes(text); err != nil {
		return err
	}
	if err := t.expectWelcome(); err != nil {
		return fmt.Errorf("a registration in single bytes: %w", err)
	}
	if err := t.bySingleBytes("JOIN " + room + "\r\n"); err != nil {
		return err
	}
	if _, err := t.readUntil("the end of the names after a JOIN in single bytes", "366"); err != nil {
		return err
	}
	if err := t.bySingleBytes("PRIVMSG " + room + " :one by one\r\nPRIVMSG " + room); err != nil {
		return err
	}
	if err := t.writeText(" :the second\nPRIVMSG %s :the third\r\n", room); err != nil {
		return err
	}
	return listener[0].expectMessages(t, room, "one by one", "the second", "the third")
}

func (t *chatClient) bySingleBytes(text string) error {
	for i := range len(text) {
		if err := t.writeText("%s", text[i:i+1]); err != nil {
			return err
		}
		if i%8 == 0 {
			time.Sleep(time.Millisecond) // so that some of them are read separately
		}
	}
	return nil
}
