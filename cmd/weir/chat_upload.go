package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"weir/chat/upload"
)

type chatUploadCmd struct {
	chatData

	List   uploadListCmd   `cmd:"" default:"withargs" help:"List the files, the latest first, and those that were removed."`
	Remove uploadRemoveCmd `cmd:"" help:"Remove files: their links stop working, and the same content is rejected."`
}

// Help is the long part of the command's help.
func (c *chatUploadCmd) Help() string {
	return `A server may run meanwhile. Clients that have fetched a file keep it, and a browser may show it from its cache for a week. To accept a removed file again, delete its .info file in DIR/uploads.

Examples:

  weir chat upload list --data chat
  weir chat upload list --json --data chat
  weir chat upload remove https://chat.example.org/file/9f86d081…/boat.jpg --data chat
  weir chat upload remove 9f86d081 --data chat`
}

// check rejects a folder that does not exist.
func (c *chatUploadCmd) check() error {
	if _, err := os.Stat(c.Data); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: name the data directory of a chat by --data", err)
	} else if err != nil {
		return err
	}
	return nil
}

type uploadListCmd struct {
	JSON bool `name:"json" help:"Write the list as JSON."`
}

// Run implements the command.
func (c *uploadListCmd) Run(t *terminal, u *chatUploadCmd) error {
	if err := u.check(); err != nil {
		return err
	}
	all, err := upload.List(u.Data)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(append([]upload.File{}, all...))
	}
	var rows [][]string
	for _, f := range all {
		row := []string{f.Hash[:16], strconv.FormatInt(f.Size, 10), "-", "-", "-"}
		if n := len(f.Sharings); n > 0 {
			last := f.Sharings[n-1]
			row = []string{row[0], row[1], timeCell(last.At), last.Account, last.Name}
		}
		if f.Removed != nil {
			row[1] = "removed"
		}
		rows = append(rows, row)
	}
	writePlainTable(t.out, []column{{title: "file"}, {title: "bytes", right: true}, {title: "shared"}, {title: "by"}, {title: "name"}}, rows)
	return nil
}

type uploadRemoveCmd struct {
	Files []string `arg:"" placeholder:"FILE" help:"Links, or the first digits of hashes, as weir chat upload list shows them."`
	JSON  bool     `name:"json" help:"Write the removed files as JSON."`
}

// Run implements the command.
func (c *uploadRemoveCmd) Run(t *terminal, u *chatUploadCmd) error {
	if err := u.check(); err != nil {
		return err
	}
	removed := []upload.File{}
	var failed error
	for _, name := range c.Files {
		f, err := upload.Remove(u.Data, name, time.Now())
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		removed = append(removed, f)
		if !c.JSON {
			fmt.Fprintf(t.out, "removed: %s\n", f.Hash)
		}
	}
	if c.JSON {
		failed = errors.Join(t.json(removed), failed)
	}
	return failed
}
