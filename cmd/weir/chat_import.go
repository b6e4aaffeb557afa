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
	Late bool   `help:"Take messages that are older than the newest one of their room too, and put them behind it."`
	JSON bool   `name:"json" help:"Write the counts as JSON."`
}

// Help is the long part of the command's help.
func (c *chatImportCmd) Help() string {
	return `All of the file is looked at before anything is stored; a bad line is named, and then nothing is. Messages that are there
already are passed over, so the command can be run again. A server may be at work.

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
		return usageError{fmt.Errorf("%s is no plain file: it has to be read twice", c.File)}
	}
	done, err := export.Import(ctx, c.File, f, c.Data, c.Late)
	if err != nil {
		if done.Messages > 0 {
			err = fmt.Errorf("%w (%d messages are stored; run it again to go on)", err, done.Messages)
		}
		return err
	}
	if c.JSON {
		return t.json(done)
	}
	fmt.Fprintf(t.out, "rooms: %d, messages imported: %d (late: %d), there already: %d\n", done.Rooms, done.Messages, done.Late, done.Known)
	return nil
}
