package chat

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/contract"
)

// brokenConnections checks that members whose connections are reset, also in the middle of a line,
// are reported as gone to the others, who are not disturbed.
func brokenConnections(b *bench) {
	all, room := b.joinMembers(6)
	gone, left := all[:3], all[3:]
	half := "PRIVMSG " + room + " :half a line"
	for i, t := range gone {
		t.write(half[:8*i])
		contract.Reset(t.TCPConn)
	}
	for _, t := range left {
		t.expectLeft(gone)
	}
	left[0].say(room, "we are still here")
	contract.During("after others broke off", func() {
		for _, t := range left[1:] {
			t.expectMessages(left[0], room, "we are still here")
		}
	})
}

// expectLeft expects a QUIT or PART of each of these members.
func (t *client) expectLeft(gone []*client) {
	missed := map[string]bool{}
	for _, g := range gone {
		missed[g.nick] = true
	}
	for len(missed) > 0 {
		got := t.next(fmt.Sprintf("QUIT or PART of %d members whose connections were reset", len(missed)))
		if got.command == "QUIT" || got.command == "PART" {
			delete(missed, got.source)
		}
	}
}

// slowMember checks that a member that does not read does not delay the others. The server may
// close its connection. More is sent than the buffers of its connection hold.
func slowMember(b *bench) {
	const messages, size, step = 16_000, 400, 100
	all, room := b.joinMembers(3)
	slow, sender, listener := all[0], all[1], all[2]
	contract.Must(slow.SetReadBuffer(4 << 10))
	text := strings.Repeat("x", size)
	texts, said := slices.Repeat([]string{text}, step), strings.Repeat(privmsg(room, text), step)
	for n := 0; n < messages; n += step {
		b.Extend(sender, listener)
		contract.During(fmt.Sprintf("with a member that does not read, after %d messages", n), func() {
			sender.write(said)
			listener.expectMessages(sender, room, texts...)
		})
	}
}

// endWhileTalking checks that SIGTERM while members send stops the server.
func endWhileTalking(b *bench) {
	all, room := b.joinMembers(8)
	b.Terminate(func() {
		contract.InParallel(len(all), func(i int) {
			// fails when the server closes the connection
			_ = contract.Try(func() {
				for {
					all[i].say(room, "on and on")
					_, err := all[i].readLine()
					contract.Must(err)
				}
			})
		})
	})
}
