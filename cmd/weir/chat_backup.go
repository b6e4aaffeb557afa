package main

import (
	"context"
	"errors"
	"fmt"

	"weir/chat/backup"
)

type chatBackupCmd struct {
	Data    string `placeholder:"DIR" help:"The chat's data directory, as weir chat serve has it; for --to and --restore."`
	To      string `placeholder:"PATH" xor:"way" help:"The copy to make: a folder, or one file if the name ends in .tar, .tar.gz or .tgz."`
	Restore string `placeholder:"PATH" xor:"way" help:"The copy out of which --data is made; nothing may be there yet."`
	Verify  string `placeholder:"PATH" xor:"way" help:"The copy to read and compare with its sums."`
	JSON    bool   `name:"json" help:"Write the counts as JSON."`
}

// Help is the long part of the command's help.
func (c *chatBackupCmd) Help() string {
	return `Copies messages, accounts, bans, invites, read marks, rooms' states and uploads. A server may be at work: each room is copied as far as
it was stored when its turn came. The copy is read again and compared before it takes its name. The search index is
not copied; it is made anew. A copy holds all that was said: keep it where only you can read it.

Examples:

  weir chat backup --data chat --to backup-2026-11-21.tar.gz
  weir chat backup --verify backup-2026-11-21.tar.gz
  weir chat backup --restore backup-2026-11-21.tar.gz --data chat-again`
}

// Run implements the command.
func (c *chatBackupCmd) Run(ctx context.Context, t *terminal) error {
	var done backup.Result
	var err error
	what := ""
	switch {
	case c.Data == "" && c.Verify == "":
		return usageError{errors.New("--data is missing: name the chat's data directory")}
	case c.To != "":
		what = c.To + " is made"
		done, err = backup.Create(ctx, c.Data, c.To)
	case c.Restore != "":
		what = c.Data + " is restored"
		done, err = backup.Restore(ctx, c.Restore, c.Data)
	case c.Verify != "":
		what = c.Verify + " is whole"
		done, err = backup.Verify(ctx, c.Verify)
	default:
		return usageError{errors.New("say --to PATH to make a backup, or --restore PATH to take one back")}
	}
	if err != nil {
		return err
	}
	if done.Bad > 0 {
		fmt.Fprintf(t.err, "weir: %d bytes belong to no whole message and were left out: weir chat log check %s says where\n", done.Bad, c.Data)
	}
	if c.JSON {
		return t.json(done)
	}
	fmt.Fprintf(t.out, "%s: files: %d, bytes: %d", what, done.Files, done.Bytes)
	if c.Verify == "" {
		fmt.Fprintf(t.out, ", rooms: %d, messages: %d", done.Rooms, done.Messages)
	}
	fmt.Fprintln(t.out)
	return nil
}
