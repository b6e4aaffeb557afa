package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// chatChecks are the contract of a chat server.
var chatChecks = []check{
	{name: "registration", shares: true, run: web(registration)},
	{name: "nick in use", shares: true, run: web(nickInUse)},
	{name: "fan-out", shares: true, run: web(fanOut)},
	{name: "order", shares: true, run: web(inOrder)},
	{name: "64 members", shares: true, run: web(allTalking)},
	{name: "burst", shares: true, run: web(oneBurst)},
	{name: "NUL", shares: true, run: web(noughtInText)},
	{name: "split lines", shares: true, run: web(splitLines)},
	{name: "broken connections", shares: true, run: web(brokenConnections)},
	{name: "slow member", shares: true, run: web(slowMember)},
	{name: "SIGTERM while talking", full: true, run: web(endWhileTalking)},
}

func isChat(workload string) bool { return workload == "chat" }

// registration: NICK and USER, or with PASS before them, are answered by 001 and the end of the
// message of the day; PING by its word.
func registration(b *bench) error {
	plainly, err := b.register()
	if err != nil {
		return err
	}
	if err := plainly.quiet(); err != nil {
		return err
	}
	capable, err := b.arrive()
	if err != nil {
		return err
	}
	if err := capable.say("CAP LS 302\r\nNICK %s\r\nUSER %s 0 * :%s\r\n", capable.nick, capable.nick, capable.nick); err != nil {
		return err
	}
	if _, err := capable.until("an answer to CAP LS", "CAP"); err != nil {
		return err
	}
	if err := capable.say("CAP END\r\n"); err != nil {
		return err
	}
	return capable.welcomed()
}

// nickInUse: nobody gets a nick that somebody has.
func nickInUse(b *bench) error {
	first, err := b.register()
	if err != nil {
		return err
	}
	second, err := b.arrive()
	if err != nil {
		return err
	}
	if err := second.say("NICK %s\r\nUSER x 0 * :x\r\n", first.nick); err != nil {
		return err
	}
	for {
		got, err := second.hear()
		switch {
		case err != nil:
			return fmt.Errorf("a nick that is taken: expected 433: %w", err)
		case got.command == "001":
			return fmt.Errorf("a nick that is taken: expected 433, saw %q", got.line)
		case got.command == "433":
			return first.quiet()
		}
	}
}

// fanOut: what is said in a room is told to all its other members once, and to nobody else.
func fanOut(b *bench) error {
	room, elsewhere := "#"+b.fresh(), "#"+b.fresh()
	all, err := b.meet(4, room)
	if err != nil {
		return err
	}
	other, err := b.meet(1, elsewhere)
	if err != nil {
		return err
	}
	for i, sender := range all {
		text := fmt.Sprintf("message %d, with: colons and  two blanks", i)
		if err := sender.say("PRIVMSG %s :%s\r\n", room, text); err != nil {
			return err
		}
		for _, t := range all {
			if t == sender {
				continue
			}
			if err := t.hears(sender, room, text); err != nil {
				return err
			}
		}
	}
	for _, t := range append(all, other...) {
		if err := t.quiet(); err != nil {
			return err
		}
	}
	return nil
}

// linesFor is n texts, and the lines that say them.
func linesFor(n int, room string) (texts []string, said string) {
	var b strings.Builder
	for i := range n {
		text := fmt.Sprintf("%05d %s", i, strings.Repeat("x", 60+i%20))
		texts = append(texts, text)
		fmt.Fprintf(&b, "PRIVMSG %s :%s\r\n", room, text)
	}
	return texts, b.String()
}

// inOrder: what one member says comes to the others in its order, however it is cut into segments.
func inOrder(b *bench) error {
	const messages, cut = 400, 1700
	room := "#" + b.fresh()
	all, err := b.meet(3, room)
	if err != nil {
		return err
	}
	texts, said := linesFor(messages, room)
	return together(len(all), func(i int) error {
		if i > 0 {
			return all[i].hears(all[0], room, texts...)
		}
		for rest := said; rest != ""; {
			n := min(cut, len(rest))
			if err := all[0].say("%s", rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
}

// allTalking: 64 members say ten things each at once; every one hears all that the others say, in
// the order of each.
func allTalking(b *bench) error {
	const members, messages = 64, 10
	room := "#" + b.fresh()
	all, err := b.meet(members, room)
	if err != nil {
		return err
	}
	return together(2*members, func(i int) error {
		t := all[i/2]
		if i%2 == 1 {
			return t.hearsFromAll(all, messages)
		}
		for n := range messages {
			if err := t.say("PRIVMSG %s :%d\r\n", room, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// hearsFromAll expects the numbers from 0 on from everybody else, each in its order.
func (t *talker) hearsFromAll(all []*talker, messages int) error {
	next := map[string]int{}
	for _, other := range all {
		next[other.nick] = 0
	}
	delete(next, t.nick)
	for n := range len(next) * messages {
		got, err := t.message()
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

// oneBurst: 19 kB that come in one segment are all told at once, the last of them too, though
// nothing comes after it.
func oneBurst(b *bench) error {
	room := "#" + b.fresh()
	all, err := b.meet(2, room)
	if err != nil {
		return err
	}
	texts, said := linesFor(200, room)
	if err := all[0].say("%s", said); err != nil {
		return err
	}
	if err := all[1].hears(all[0], room, texts...); err != nil {
		return fmt.Errorf("%d bytes in one write: %w", len(said), err)
	}
	return nil
}

// noughtInText: a NUL in a message brings nobody anything that was not said, and ends nobody else's
// conversation. What becomes of the message itself, and of the connection that it came on, is the
// server's affair.
func noughtInText(b *bench) error {
	room := "#" + b.fresh()
	all, err := b.meet(3, room)
	if err != nil {
		return err
	}
	if err := all[0].say("PRIVMSG %s :before\x00after\r\n", room); err != nil {
		return err
	}
	_ = all[0].say("PRIVMSG %s :and on\r\n", room) // its connection may be over
	if err := all[1].say("PRIVMSG %s :still here\r\n", room); err != nil {
		return err
	}
	return all[2].hearsOf(all[0], all[1])
}

// patienceAfter is how long a server may take to answer a PING after half a second of silence.
const patienceAfter = 10 * time.Second

// hearsOf hears what one said who had said a NUL, until that one goes on, is gone, or says nothing
// for half a second; and that the other is still here.
func (t *talker) hearsOf(strange, other *talker) error {
	for over, here := false, false; !over || !here; {
		got, err := t.hear()
		switch text := got.last(); {
		case err != nil && here:
			return errors.Join(t.SetDeadline(time.Now().Add(patienceAfter)), t.quiet())
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

// splitLines: lines may come in any number of segments, several in one, and end in a line feed
// alone.
func splitLines(b *bench) error {
	room := "#" + b.fresh()
	listener, err := b.meet(1, room)
	if err != nil {
		return err
	}
	t, err := b.arrive()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("NICK %s\r\nUSER %s 0 * :%s\r\n", t.nick, t.nick, t.nick)
	if err := t.bySingleBytes(text); err != nil {
		return err
	}
	if err := t.welcomed(); err != nil {
		return fmt.Errorf("a registration in single bytes: %w", err)
	}
	if err := t.bySingleBytes("JOIN " + room + "\r\n"); err != nil {
		return err
	}
	if _, err := t.until("the end of the names after a JOIN in single bytes", "366"); err != nil {
		return err
	}
	if err := t.bySingleBytes("PRIVMSG " + room + " :one by one\r\nPRIVMSG " + room); err != nil {
		return err
	}
	if err := t.say(" :the second\nPRIVMSG %s :the third\r\n", room); err != nil {
		return err
	}
	return listener[0].hears(t, room, "one by one", "the second", "the third")
}

func (t *talker) bySingleBytes(text string) error {
	for i := range len(text) {
		if err := t.say("%s", text[i:i+1]); err != nil {
			return err
		}
		if i%8 == 0 {
			time.Sleep(time.Millisecond) // so that some of them are read by themselves
		}
	}
	return nil
}
