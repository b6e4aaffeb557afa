package contract

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// brokenConnections: members who break off, in the middle of a line too, are missed by the others,
// who talk on.
func brokenConnections(b *bench) error {
	room := "#" + b.fresh()
	all, err := b.meet(6, room)
	if err != nil {
		return err
	}
	gone, left := all[:3], all[3:]
	half := "PRIVMSG " + room + " :half a line"
	for i, t := range gone {
		if err := t.say("%s", half[:8*i]); err != nil {
			return err
		}
		if err := t.SetLinger(0); err != nil {
			return err
		}
		t.Close()
	}
	for _, t := range left {
		if err := t.misses(gone); err != nil {
			return err
		}
	}
	if err := left[0].say("PRIVMSG %s :we are still here\r\n", room); err != nil {
		return err
	}
	for _, t := range left[1:] {
		if err := t.hears(left[0], room, "we are still here"); err != nil {
			return fmt.Errorf("after others broke off: %w", err)
		}
	}
	return nil
}

// misses hears that all of these have left.
func (t *talker) misses(gone []*talker) error {
	missed := map[string]bool{}
	for _, g := range gone {
		missed[g.nick] = true
	}
	for len(missed) > 0 {
		got, err := t.hear()
		if err != nil {
			return fmt.Errorf("%s: expected to hear of %d members who broke off that they left: %w", t.nick, len(missed), err)
		}
		if got.command == "QUIT" || got.command == "PART" {
			delete(missed, got.source)
		}
	}
	return nil
}

// slowMember: one who does not read holds up nobody, whatever becomes of it. What is said meanwhile
// is more than the buffers of its connection hold.
func slowMember(b *bench) error {
	const messages, size, step = 16_000, 400, 100
	room := "#" + b.fresh()
	all, err := b.meet(3, room)
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
			if err := t.SetDeadline(time.Now().Add(b.patience)); err != nil {
				return err
			}
		}
		err := sender.say("%s", said)
		if err == nil {
			err = listener.hears(sender, room, texts...)
		}
		if err != nil {
			return fmt.Errorf("beside a member who does not read, after %d messages: %w", n, err)
		}
	}
	return nil
}

// endWhileTalking: SIGTERM comes while members talk. The server ends.
func endWhileTalking(b *bench) error {
	room := "#" + b.fresh()
	all, err := b.meet(8, room)
	if err != nil {
		return err
	}
	said := make(chan struct{}) // closed when everybody has stopped talking
	go func() {
		defer close(said)
		_ = together(len(all), func(i int) error {
			for {
				if err := all[i].say("PRIVMSG %s :on and on\r\n", room); err != nil {
					return err // the connection is over
				}
				if _, err := all[i].hear(); err != nil {
					return err
				}
			}
		})
	}()
	err = b.stop()
	<-said
	if err != nil {
		return err
	}
	if exit := b.process.Exit(); !exit.Success() {
		return errors.New("after SIGTERM: expected exit status 0, saw " + exit.String())
	}
	return nil
}
