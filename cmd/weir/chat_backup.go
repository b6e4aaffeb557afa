package main

import (
	"context"
	"errors"
	"fmt"

	"weir/chat/backup"
)

type chatBackupCmd struct {
	Data    string `placeholder:"DIR" help:"The chat's data directory; for --to and --restore."`
	To      string `placeholder:"PATH" xor:"way" help:"Create a backup: a folder, or one file if the name ends in .tar, .tar.gz or .tgz."`
	Restore string `placeholder:"PATH" xor:"way" help:"Restore --data from this backup; --data must not exist."`
	Verify  string `placeholder:"PATH" xor:"way" help:"Verify the checksums of this backup."`
	JSON    bool   `name:"json" help:"Write the counts as JSON."`
}

// Help is the long part of the command's help.
func (c *chatBackupCmd) Help() string {
	return `Copies messages, accounts, bans, invites, read markers, the state of rooms, and uploads. A server may run meanwhile: each room is copied up to its last message at that moment. A new backup is read again and verified before it gets its name. The search index is not part of it; it is built again. A backup contains all messages: keep it where only you can read it.

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
		what = "created " + c.To
		done, err = backup.Create(ctx, c.Data, c.To)
	case c.Restore != "":
		what = "restored " + c.Data
		done, err = backup.Restore(ctx, c.Restore, c.Data)
	case c.Verify != "":
		what = c.Verify + " is complete"
		done, err = backup.Verify(ctx, c.Verify)
	default:
		return usageError{errors.New("give --to PATH to create a backup, --restore PATH to restore one, or --verify PATH")}
	}
	if err != nil {
		return err
	}
	if done.Bad > 0 {
		fmt.Fprintf(t.err, "weir: %d bytes belong to no complete message and were left out: weir chat log check %s lists them\n", done.Bad, c.Data)
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
