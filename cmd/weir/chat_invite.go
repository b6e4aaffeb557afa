package main

import (
	"fmt"
	"os"

	"weir/chat/account"
)

type chatInviteCmd struct {
	chatData

	New    inviteNewCmd    `cmd:"" default:"withargs" help:"Create and print a code for one account."`
	List   inviteListCmd   `cmd:"" help:"List the valid invites, without their codes."`
	Revoke inviteRevokeCmd `cmd:"" help:"Revoke an invite."`
}

// Help is the long part of the command's help.
func (c *chatInviteCmd) Help() string {
	return `A code is shown once: only its hash is stored. Its holder registers one account with it.

Examples:

  weir chat invite --data chat
  weir chat invite --for 4w --json --data chat
  weir chat invite list --data chat`
}

type inviteNewCmd struct {
	For  span `default:"7d" placeholder:"TIME" help:"Validity: 12h, 7d, 2w; 0 is for ever."`
	JSON bool `name:"json" help:"Write the code and the invite as JSON."`
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
		fmt.Fprintf(t.err, "weir: valid for one account, %s; the code cannot be shown again\n", untilText(invite.Until))
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
		writePlainTable(t.out, []column{{title: "invite"}, {title: "created"}, {title: "valid"}, {title: "by"}}, rows)
		return nil
	})
}

type inviteRevokeCmd struct {
	ID string `arg:"" help:"The ID, as weir chat invite list shows it."`
}

// Run implements the command.
func (c *inviteRevokeCmd) Run(t *terminal, i *chatInviteCmd) error {
	return i.with(t, func(s *account.Store) error { return s.RevokeInvite(c.ID) })
}
