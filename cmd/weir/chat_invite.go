package main

import (
	"fmt"
	"os"

	"weir/chat/account"
)

type chatInviteCmd struct {
	chatData

	New    inviteNewCmd    `cmd:"" default:"withargs" help:"Print a code that is good for one account."`
	List   inviteListCmd   `cmd:"" help:"List the codes that are good still, without the codes."`
	Revoke inviteRevokeCmd `cmd:"" help:"Make a code good for nothing."`
}

// Help is the long part of the command's help.
func (c *chatInviteCmd) Help() string {
	return `A code is shown once: only its hash is stored. Who has it makes an account with it, once.

Examples:

  weir chat invite --data chat
  weir chat invite --for 4w --json --data chat
  weir chat invite list --data chat`
}

type inviteNewCmd struct {
	For  span `default:"7d" placeholder:"TIME" help:"How long it is good: 12h, 7d, 2w; 0 is for ever."`
	JSON bool `name:"json" help:"Write the code and what is known of it as JSON."`
}

// Run implements the command.
func (c *inviteNewCmd) Run(t *terminal, i *chatInviteCmd) error {
	return i.with(t, func(s *account.Store) error {
		code, invite, err := s.NewInvite(os.Getenv("USER"), c.For.until())
		if err != nil {
			return err
		}
		if c.JSON {
			return t.json(struct {
				Code string `json:"code"`
				account.Invite
			}{code, invite})
		}
		fmt.Fprintln(t.out, code)
		fmt.Fprintf(t.err, "weir: good for one account, %s; it can't be shown again\n", untilText(invite.Until))
		return nil
	})
}

type inviteListCmd struct {
	JSON bool `name:"json" help:"Write the list as JSON."`
}

// Run implements the command.
func (c *inviteListCmd) Run(t *terminal, i *chatInviteCmd) error {
	return i.with(t, func(s *account.Store) error {
		invites, err := s.Invites()
		if err != nil {
			return err
		}
		if c.JSON {
			return t.json(append([]account.Invite{}, invites...))
		}
		var rows [][]string
		for _, v := range invites {
			rows = append(rows, []string{v.ID, timeCell(v.Created), untilText(v.Until), v.By})
		}
		writeTable(t.out, []column{{title: "invite"}, {title: "made"}, {title: "good"}, {title: "by"}}, rows, 0, nil)
		return nil
	})
}

type inviteRevokeCmd struct {
	ID string `arg:"" help:"As weir chat invite list shows it."`
}

// Run implements the command.
func (c *inviteRevokeCmd) Run(t *terminal, i *chatInviteCmd) error {
	return i.with(t, func(s *account.Store) error { return s.RevokeInvite(c.ID) })
}
