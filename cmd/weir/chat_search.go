package main

import (
	"context"
	"fmt"
	"strings"

	"weir/chat/data"
	"weir/chat/search"
)

type chatSearchCmd struct {
	chatData

	Query []string `arg:"" help:"Words, \"phrases\", sail* for a prefix, from:nick, in:#room, after:DAY, before:DAY; after --, -word excludes a word."`
	Limit int      `default:"20" help:"Number of messages, 1 to 500; the newest are shown."`
	JSON  bool     `name:"json" help:"Write the messages as JSON; \\u0002 and \\u0003 surround each match."`
}

// Help is the long part of the command's help.
func (c *chatSearchCmd) Help() string {
	return `Updates the index (DIR/index, which may be deleted), then searches all rooms and direct conversations. A server may run meanwhile. The newest message comes last. Days are UTC.

Examples:

  weir chat search harbour 'in:#family' after:2026-11-01 --data chat
  weir chat search '"blue boat" -engine from:ann' --json --data chat`
}

// Run implements the command.
func (c *chatSearchCmd) Run(ctx context.Context, t *terminal) error {
	if c.Limit < 1 || c.Limit > search.MaxLimit {
		return usageError{fmt.Errorf("--limit %d: want 1 to %d", c.Limit, search.MaxLimit)}
	}
	q, err := search.Parse(strings.Join(c.Query, " "))
	if err != nil {
		return usageError{err}
	}
	// creates no index in a folder that was named by mistake
	if _, err := data.List(c.Data); err != nil {
		return err
	}
	x, err := search.Open(ctx, c.Data)
	if err != nil {
		return err
	}
	defer x.Close()
	if err := x.Update(ctx); err != nil {
		return err
	}
	found, err := x.Find(ctx, q, search.Options{Limit: c.Limit, Snippets: true})
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(append([]search.Result{}, found...))
	}
	on, off := "", ""
	if t.colour() {
		on, off = "\x1b[1m", "\x1b[0m"
	}
	marks := strings.NewReplacer(string(search.HighlightStart), on, string(search.HighlightEnd), off)
	for i := len(found) - 1; i >= 0; i-- {
		r := found[i]
		fmt.Fprintf(t.out, "%s %s <%s> %s\n", r.Time.Format("2006-01-02 15:04"), r.Room, r.Nick, marks.Replace(r.Snippet))
	}
	if len(found) == 0 {
		fmt.Fprintln(t.err, "weir: no message matches")
	}
	return nil
}
