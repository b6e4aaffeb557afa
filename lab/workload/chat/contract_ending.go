package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"weir/lab/contract"
)

// brokenConnections checks that members whose connections are reset, also in the middle of a line,
// are reported as gone to the others, who are not disturbed.
func brokenConnections(b *bench) error {
	room := "#" + b.newName()
	all, err := b.joinMembers(6, room)
	if err != nil {
		return err
	}
	gone, left := all[:3], all[3:]
	half := "PRIVMSG " + room + " :half a line"
	for i, t := range gone {
		if err := t.writeText("%s", half[:8*i]); err != nil {
			return err
		}
		if err := t.SetLinger(0); err != nil {
			return err
		}
		t.Close()
	}
	for _, t := range left {
		if err := t.expectLeft(gone); err != nil {
			return err
		}
	}
	if err := left[0].writeText("PRIVMSG %s :we are still here\r\n", room); err != nil {
		return err
	}
	for _, t := range left[1:] {
		if err := t.expectMessages(left[0], room, "we are still here"); err != nil {
			return fmt.Errorf("after others broke off: %w", err)
		}
	}
	return nil
}

// expectLeft expects a QUIT or PART of each of these members.
func (t *chatClient) expectLeft(gone []*chatClient) error {
	missed := map[string]bool{}
	for _, g := range gone {
		missed[g.nick] = true
	}
	for len(missed) > 0 {
		got, err := t.readLine()
		if err != nil {
			return fmt.Errorf("%s: expected QUIT or PART of %d members whose connections were reset: %w", t.nick, len(missed), err)
		}
		if got.command == "QUIT" || got.command == "PART" {
			delete(missed, got.source)
		}
	}
	return nil
}

// slowMember checks that a member that does not read does not delay the others. The server may
// close its connection. More is sent than the buffers of its connection hold.
func slowMember(b *bench) error {
	const messages, size, step = 16_000, 400, 100
	room := "#" + b.newName()
	all, err := b.joinMembers(3, room)
	if err != nil {
		return err
	}
	slow, sender, listener := all[0], all[1], all[2]
	if err := slow.SetReadBuffer(4 << 10); err != nil {
		return err
	}
	text := strings.Repeat("x", size)
	var texts []string
	for range step {
		texts = append(texts, text)
	}
	said := strings.Repeat(fmt.Sprintf("PRIVMSG %s :%s\r\n", room, text), step)
	for n := 0; n < messages; n += step {
		for _, t := range all[1:] {
			if err := t.SetDeadline(time.Now().Add(b.Timeout)); err != nil {
				return err
			}
		}
		err := sender.writeText("%s", said)
		if err == nil {
			err = listener.expectMessages(sender, room, texts...)
		}
		if err != nil {
			return fmt.Errorf("with a member that does not read, after %d messages: %w", n, err)
		}
	}
	return nil
}

// endWhileTalking checks that SIGTERM while members send stops the server.
func endWhileTalking(b *bench) error {
	room := "#" + b.newName()
	all, err := b.joinMembers(8, room)
	if err != nil {
		return err
	}
	said := make(chan struct{}) // closed when all clients have stopped
	go func() {
		defer close(said)
		_ = contract.InParallel(len(all), func(i int) error {
			for {
				if err := all[i].writeText("PRIVMSG %s :on and on\r\n", room); err != nil {
					return err // the connection is closed
				}
				if _, err := all[i].readLine(); err != nil {
					return err
				}
			}
		})
	}()
	err = b.Stop()
	<-said
	if err != nil {
		return err
	}
	if exit := b.Process.Exit(); !exit.Success() {
		return errors.New("after SIGTERM: expected exit status 0, saw " + exit.String())
	}
	return nil
}
