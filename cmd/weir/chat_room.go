package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/chat"
	"weir/chat/data"
	"weir/chat/host"
	"weir/chat/log"
)

type chatRoomCmd struct {
	chatData

	List   roomListCmd   `cmd:"" help:"List the rooms; example: weir chat room list --data chat"`
	Show   roomShowCmd   `cmd:"" help:"Show the state of a room; example: weir chat room show '#garden' --data chat"`
	Topic  roomTopicCmd  `cmd:"" help:"Change the topic of a room."`
	Key    roomKeyCmd    `cmd:"" help:"Set or remove the key of a room."`
	Op     roomOpCmd     `cmd:"" help:"Make an account an operator of a room; example: weir chat room op '#garden' ann --data chat"`
	Delete roomDeleteCmd `cmd:"" help:"Delete a room with all its messages."`
}

// Help is the long part of the command's help.
func (c *chatRoomCmd) Help() string {
	return `A running server makes the change and notifies the members; without one, the files are changed. Run these commands as the user of the server.

Examples:

  weir chat room list --data chat
  weir chat room show '#garden' --json --data chat
  weir chat room topic '#garden' "Roses on Sunday" --data chat
  weir chat room op '#garden' ann --data chat
  weir chat room delete '#old' --data chat`
}

// roomEntry is the JSON form of a room.
type roomEntry struct {
	chat.RoomState
	Folder string    `json:"folder"` // in the data directory
	ID     string    `json:"id"`     // prefix of the IDs of its messages
	Bytes  int64     `json:"bytes"`  // of its messages
	Oldest time.Time `json:"oldest,omitzero"`
	Newest time.Time `json:"newest,omitzero"`

	Live *host.Live `json:"live,omitempty"` // known only to a running server; only in "room show"
}

// readRooms reads the files of the rooms among some conversations. It skips a room that a server
// has deleted meanwhile.
func readRooms(ctx context.Context, dir string, all []data.Room) ([]roomEntry, error) {
	list := []roomEntry{}
	for _, room := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if room.Direct {
			continue
		}
		e, err := readRoom(dir, room)
		if errors.Is(err, chat.ErrNoRoom) || errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", room.Name, err)
		}
		list = append(list, e)
	}
	return list, nil
}

// readRoom reads a room's files.
func readRoom(dir string, room data.Room) (e roomEntry, err error) {
	if e.RoomState, err = chat.ReadRoom(dir, room); err != nil {
		return e, err
	}
	e.Folder = room.Path
	l, err := log.Open(filepath.Join(dir, filepath.FromSlash(room.Path)), log.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return e, nil // its log is being created
	}
	if err != nil {
		return e, err
	}
	defer l.Close()
	e.ID, e.Bytes = l.ID(), l.Committed()-l.First()
	newest, err := l.Latest(1, math.MaxInt64)
	if err != nil || len(newest) == 0 {
		return e, err
	}
	e.Newest = newest[0].Time()
	r := l.Stream(l.First())
	defer r.Close()
	oldest, err := r.Next()
	if err == nil {
		e.Oldest = oldest.Time()
	} else if errors.Is(err, io.EOF) {
		err = nil // the messages were removed meanwhile
	}
	return e, err
}

// rankNames replaces the letters of irc.RoomRanks by words.
var rankNames = strings.NewReplacer("o", "operator ", "v", "voice")

// operators returns the accounts that are operators of a room.
func (e *roomEntry) operators() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(e.Ranks)) {
		if strings.Contains(e.Ranks[name], "o") {
			names = append(names, name)
		}
	}
	return names
}

type roomListCmd struct {
	JSON bool `name:"json" help:"Write the list as JSON."`
}

// Run implements the command.
func (c *roomListCmd) Run(ctx context.Context, t *terminal, u *chatRoomCmd) error {
	all, err := data.List(u.Data)
	if _, wrong := os.Stat(filepath.Join(u.Data, "lock")); wrong == nil && errors.Is(err, data.ErrNone) {
		err = nil // a chat without messages
	}
	if err != nil {
		return err
	}
	list, err := readRooms(ctx, u.Data, all)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, e := range list {
		rows = append(rows, []string{e.Name, strconv.FormatInt(e.Bytes, 10), timeCell(e.Oldest), timeCell(e.Newest), first(strings.Join(e.operators(), " "), "-"), first(plain(e.Topic), "-")})
	}
	if c.JSON {
		return t.json(list)
	}
	columns := []column{{title: "room"}, {title: "bytes", right: true}, {title: "oldest message"}, {title: "last message"}, {title: "operators"}, {title: "topic"}}
	writePlainTable(t.out, columns, rows)
	return nil
}

// roomArg names the room that a command works on.
type roomArg struct {
	Room string `arg:"" help:"The room's name, such as '#garden' (quoted, because # starts a comment in a shell)."`
}

func (a roomArg) find() (data.Room, error) {
	room, err := data.Named(a.Room)
	if err == nil && room.Direct {
		err = fmt.Errorf("%s is a direct conversation of two accounts, not a room", a.Room)
	}
	if err != nil {
		return room, usageError{err}
	}
	return room, nil
}

type roomShowCmd struct {
	roomArg

	JSON bool `name:"json" help:"Write it as JSON."`
}

// Run implements the command.
func (c *roomShowCmd) Run(ctx context.Context, t *terminal, u *chatRoomCmd) error {
	room, err := c.find()
	if err != nil {
		return err
	}
	e, err := readRoom(u.Data, room)
	if err != nil {
		return err
	}
	if host.Runs(u.Data) {
		if err := u.administer(func(a *host.Admin) (err error) { e.Live, err = a.Live(ctx, room.Name); return err }); err != nil {
			return err
		}
	}
	if c.JSON {
		return t.json(e)
	}
	rows := [][]string{{"room", e.Name}, {"created", timeCell(e.CreatedAt)}, {"topic", first(e.Topic, "-")}, {"topic by", first(e.TopicBy, "-")}, {"modes", "+" + e.Flags}, {"key", first(e.Key, "-")},
		{"folder", e.Folder}, {"bytes", strconv.FormatInt(e.Bytes, 10)}, {"oldest message", timeCell(e.Oldest)}, {"last message", timeCell(e.Newest)}}
	for _, name := range slices.Sorted(maps.Keys(e.Ranks)) {
		rows = append(rows, []string{"rank of " + name, rankNames.Replace(e.Ranks[name])})
	}
	for _, mask := range e.Bans {
		rows = append(rows, []string{"banned", mask})
	}
	rows = append(rows, liveRows(e.Live)...)
	for _, r := range rows {
		fmt.Fprintf(t.out, "%-16s %s\n", r[0], strings.TrimSpace(plain(r[1])))
	}
	return nil
}

// plain removes control characters from users' text, which a terminal would interpret.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// liveRows returns the part of a room's state that only a running server knows.
func liveRows(live *host.Live) (rows [][]string) {
	if live == nil {
		return nil
	}
	age, bytes := "for ever", "all"
	if text, _ := live.KeptFor.MarshalText(); live.KeptFor > 0 {
		age = "for " + string(text)
	}
	if text, _ := live.KeptBytes.MarshalText(); live.KeptBytes > 0 {
		bytes = string(text)
	}
	rows = append(rows, []string{"retention", age + ", " + bytes})
	for _, m := range live.Members {
		rows = append(rows, []string{"member", m.Nick + " " + rankNames.Replace(m.Ranks)})
	}
	return rows
}

// administer calls f with access to the rooms: through the running server, or to their files.
func (u *chatRoomCmd) administer(f func(*host.Admin) error) error {
	if _, err := os.Stat(u.Data); err != nil {
		return fmt.Errorf("%w: name the data directory of a chat by --data", err)
	}
	a, err := host.OpenAdmin(u.Data)
	if err != nil {
		return err
	}
	return errors.Join(f(a), a.Close())
}

// change changes a room.
func (a roomArg) change(ctx context.Context, u *chatRoomCmd, c chat.RoomChange) error {
	room, err := a.find()
	if err != nil {
		return err
	}
	return u.administer(func(admin *host.Admin) error { return admin.ChangeRoom(ctx, room.Name, c) })
}

type roomTopicCmd struct {
	roomArg

	Text string `arg:"" help:"The topic; '' for none."`
}

// Help is the long part of the command's help.
func (c *roomTopicCmd) Help() string {
	return `Example:

  weir chat room topic '#garden' "Roses on Sunday" --data chat`
}

// Run implements the command.
func (c *roomTopicCmd) Run(ctx context.Context, u *chatRoomCmd) error {
	return c.change(ctx, u, chat.RoomChange{Topic: &c.Text})
}

type roomKeyCmd struct {
	roomArg

	Word string `arg:"" help:"The key; '' for none, so that any client may join."`
}

// Help is the long part of the command's help.
func (c *roomKeyCmd) Help() string {
	return `Members stay, and see the new key. Operators of the room join without it.

Examples:

  weir chat room key '#garden' lilac --data chat
  weir chat room key '#garden' '' --data chat`
}

// Run implements the command.
func (c *roomKeyCmd) Run(ctx context.Context, u *chatRoomCmd) error {
	return c.change(ctx, u, chat.RoomChange{Key: &c.Word})
}

type roomOpCmd struct {
	roomArg

	Account string `arg:"" help:"The account's name."`
	Voice   bool   `help:"Give voice instead, the right to speak while the room is moderated."`
	Remove  bool   `help:"Remove the rank instead."`
}

// Help is the long part of the command's help.
func (c *roomOpCmd) Help() string {
	return `The account gets the rank whenever it joins the room; it need not be a member now.

Examples:

  weir chat room op '#garden' ann --data chat
  weir chat room op '#garden' bob --remove --data chat
  weir chat room op '#garden' carl --voice --data chat`
}

// Run implements the command.
func (c *roomOpCmd) Run(ctx context.Context, u *chatRoomCmd) error {
	sign, rank := "+", "o"
	if c.Remove {
		sign = "-"
	}
	if c.Voice {
		rank = "v"
	}
	return c.change(ctx, u, chat.RoomChange{Ranks: map[string]string{c.Account: sign + rank}})
}

type roomDeleteCmd struct {
	roomArg

	Yes bool `help:"Do not ask for confirmation."`
}

// Help is the long part of the command's help.
func (c *roomDeleteCmd) Help() string {
	return `Deletes the room with its messages; only a backup brings them back. Asks for the room's name, on a terminal or from standard input, unless --yes is given.

Examples:

  weir chat room delete '#old' --data chat
  weir chat room delete '#old' --yes --data chat`
}

// Run implements the command.
func (c *roomDeleteCmd) Run(ctx context.Context, t *terminal, u *chatRoomCmd) error {
	room, err := c.find()
	if err != nil {
		return err
	}
	if !c.Yes {
		fmt.Fprintf(t.err, "This deletes all messages in %s. Type its name to confirm: ", room.Name)
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		if again, err := data.Named(strings.TrimSpace(line)); err != nil || again.Path != room.Path {
			return errors.New("the names differ: nothing was deleted")
		}
	}
	if err := u.administer(func(a *host.Admin) error { return a.DeleteRoom(ctx, room.Name) }); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "deleted %s\n", room.Name)
	return nil
}
