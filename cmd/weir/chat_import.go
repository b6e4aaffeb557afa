package main

import (
	"context"
	"fmt"
	"os"

	"weir/chat/export"
)

type chatImportCmd struct {
	chatData

	File string `arg:"" help:"A file of JSON lines, as weir chat export writes it."`
	Late bool   `help:"Also import messages that are older than the newest of their room, and append them."`
	JSON bool   `name:"json" help:"Write the counts as JSON."`
}

// Help is the long part of the command's help.
func (c *chatImportCmd) Help() string {
	return `Checks the whole file before it stores anything; the error names the first bad line. Messages that exist already are skipped, so the command can be repeated. A server may run meanwhile.

Example:

  weir chat import chat.jsonl --data chat`
}

// Run implements the command.
func (c *chatImportCmd) Run(ctx context.Context, t *terminal) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return usageError{fmt.Errorf("%s is not a regular file: it has to be read twice", c.File)}
	}
	done, err := export.Import(ctx, c.File, f, c.Data, c.Late)
	if err != nil {
		if done.Messages > 0 {
			err = fmt.Errorf("%w (%d messages were imported; run the command again to go on)", err, done.Messages)
		}
		return err
	}
	if c.JSON {
		return t.json(done)
	}
	fmt.Fprintf(t.out, "rooms: %d, messages imported: %d (late: %d), already there: %d\n", done.Rooms, done.Messages, done.Late, done.Known)
	return nil
}
