package main

import (
	"fmt"
	"os"
	"time"

	"weir/chat/account"
)

type userBanCmd struct {
	Pattern string `arg:"" help:"An account's name, an address, a network (192.0.2.0/24), or a mask NICK!USER@HOST with * and ?."`
	For     span   `placeholder:"TIME" help:"Duration: 45m, 12h, 7d, 2w (default: for ever)."`
	Reason  string `help:"Reason, which banned clients receive."`
	JSON    bool   `name:"json" help:"Write the ban as JSON."`
}

// Help is the long part of the command's help.
func (c *userBanCmd) Help() string {
	return `Clients that match are disconnected within a second. A ban with the same pattern as an older one replaces it.

Examples:

  weir chat user ban mallory --for 7d --reason "calm down" --data chat
  weir chat user ban 2001:db8::/48 --data chat
  weir chat user ban '*!*@*.example.net' --data chat`
}

// Run implements the command.
func (c *userBanCmd) Run(t *terminal, u *chatUserCmd) error {
	return u.with(t, func(s *account.Store) error {
		b, err := s.Ban(account.Ban{Pattern: c.Pattern, Until: c.For.until(), Reason: c.Reason, By: os.Getenv("USER")})
		if err != nil {
			return err
		}
		if c.JSON {
			return t.json(b)
		}
		fmt.Fprintf(t.out, "%s is banned %s\n", b.Pattern, untilText(b.Until))
		return nil
	})
}

func untilText(until time.Time) string {
	if until.IsZero() {
		return "for ever"
	}
	return "until " + timeCell(until)
}

type userUnbanCmd struct {
	Pattern string `arg:"" help:"The pattern, as weir chat user bans lists it."`
}

// Run implements the command.
func (c *userUnbanCmd) Run(t *terminal, u *chatUserCmd) error {
	return u.with(t, func(s *account.Store) error { return s.Unban(c.Pattern) })
}

type userBansCmd struct {
	JSON bool `name:"json" help:"Write the list as JSON."`
}

// Run implements the command.
func (c *userBansCmd) Run(t *terminal, u *chatUserCmd) error {
	return u.with(t, func(s *account.Store) error {
		bans := s.Bans()
		if c.JSON {
			return t.json(append([]account.Ban{}, bans...))
		}
		var rows [][]string
		for _, b := range bans {
			rows = append(rows, []string{b.Pattern, untilText(b.Until), b.By, b.Reason})
		}
		writePlainTable(t.out, []column{{title: "banned"}, {title: "duration"}, {title: "by"}, {title: "reason"}}, rows)
		return nil
	})
}
