package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/chat/export"
)

type chatExportCmd struct {
	chatData

	Room   string `placeholder:"ROOM" help:"Only this room (#family) or conversation (ann,bob)."`
	Since  string `placeholder:"TIME" help:"Only messages since this time: 2026-11-21, 2026-11-21T11:30:00Z, or an age such as 12h or 7d."`
	Format string `default:"jsonl" enum:"jsonl,text" help:"jsonl: a message per line, for programs and weir chat import; text: to read."`
}

// Help is the long part of the command's help.
func (c *chatExportCmd) Help() string {
	return `Writes the messages of each room, up to its last at that moment, to standard output. A server may run meanwhile, and is not delayed. Times are UTC.

Examples:

  weir chat export --data chat > chat.jsonl
  weir chat export --room '#family' --since 7d --format text --data chat | less`
}

// Run implements the command.
func (c *chatExportCmd) Run(ctx context.Context, t *terminal) error {
	since, err := instant(c.Since, time.Now())
	if err != nil {
		return usageError{fmt.Errorf("--since %s: %w", c.Since, err)}
	}
	r, err := export.Export(ctx, t.out, c.Data, export.Options{Room: c.Room, Since: since, Format: export.Format(c.Format)})
	if err == nil && r.Bad > 0 {
		err = fmt.Errorf("%d bytes belong to no complete message and were left out: weir chat log check %s lists them", r.Bad, c.Data)
	}
	return err
}

// instant parses a time or an age. "" is the zero time.
func instant(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.Parse(form, s); err == nil {
			return at, nil
		}
	}
	var ago span
	if ago.UnmarshalText([]byte(s)) == nil {
		return now.Add(-time.Duration(ago)), nil
	}
	return time.Time{}, errors.New("not a time: write 2026-11-21, 2026-11-21T11:30:00Z, or an age such as 12h or 7d")
}
