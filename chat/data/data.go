// Package data maps rooms and conversations to their folders in a chat's data directory, and
// folders to names. docs/protocol.md specifies the content of such a folder; package chat/log reads
// it.
//
// Limitations: a room whose file "state" is lost has the name of its folder, in lower case.
package data

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/internal/disk"
)

// Dir is a data directory.
type Dir struct {
	Path string
	Disk disk.FS // nil: the operating system's
}

func (d Dir) disk() disk.FS { return disk.Or(d.Disk) }

// Folders of the data directory. Each has a folder for every log.
const (
	Rooms  = "rooms"
	Direct = "direct"
)

// Metadata is the folder of the metadata of accounts in a data directory.
const Metadata = "metadata"

// maxFolder is the length limit of a log's folder name, in bytes.
const maxFolder = 200

// Room is a room, or a conversation of two accounts.
type Room struct {
	Name   string // "#Family" in its spelling, or "ann,bob": two account names, folded and in order
	Path   string // relative to the data directory: "rooms/#family", "direct/ann,bob"
	Direct bool   // it is a conversation
}

// ErrName is wrapped by the error for an invalid name.
var ErrName = errors.New("not a room name")

// ErrNone is wrapped by the error for a directory without rooms and conversations: it is not of a
// chat, or the chat has no message yet.
var ErrNone = errors.New("no rooms and no conversations: name the data directory of a chat")

// List returns the rooms of a data directory, then the conversations, each in the order of their
// folders. If it has neither, the error is ErrNone.
func List(dir string) ([]Room, error) { return Dir{Path: dir}.List() }

// List is the package's List of d.
func (d Dir) List() ([]Room, error) {
	var all []Room
	found := false
	for _, kind := range []string{Rooms, Direct} {
		entries, err := d.disk().ReadDir(filepath.Join(d.Path, kind))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		found = found || err == nil
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, d.readRoom(kind, e.Name()))
			}
		}
	}
	if !found {
		if _, err := d.disk().Stat(d.Path); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", d.Path, ErrNone)
	}
	return all, nil
}

// readRoom returns the room of a folder.
func (d Dir) readRoom(kind, folder string) Room {
	r := Room{Name: NameOf(folder), Path: kind + "/" + folder, Direct: kind == Direct}
	if r.Direct {
		return r
	}
	state, _ := disk.ReadFile(d.disk(), filepath.Join(d.Path, kind, folder, "state"))
	for line := range bytes.Lines(state) {
		m, err := ircmsg.ParseLine(string(line))
		if err == nil && len(m.Params) > 0 && irc.ValidRoom(m.Params[0]) && irc.Fold(m.Params[0]) == r.Name {
			r.Name = m.Params[0]
			break
		}
	}
	return r
}

// Named returns the room or conversation with a name, whether it exists or not. The two accounts of
// a conversation may be in any order and spelling.
func Named(name string) (Room, error) {
	r := Room{Name: name}
	switch a, b, pair := strings.Cut(name, ","); {
	case irc.ValidRoom(name):
		r.Path = Rooms + "/" + Folder(name)
	case pair && account.CheckName(a) == nil && account.CheckName(b) == nil:
		a, b = irc.Fold(a), irc.Fold(b)
		r.Name = min(a, b) + "," + max(a, b)
		r.Path, r.Direct = Direct+"/"+Folder(r.Name), true
	default:
		return Room{}, fmt.Errorf("%q is %w: want #room, or two accounts as ann,bob", name, ErrName)
	}
	if len(filepath.Base(r.Path)) > maxFolder {
		return Room{}, fmt.Errorf("%q is %w: it is too long for a folder name", name, ErrName)
	}
	return r, nil
}

// RoomPath returns the path of a room's folder in a data directory.
func RoomPath(name string) string { return Rooms + "/" + Folder(name) }

// Folder returns the folder name of a room or conversation: its name folded, with other characters
// than letters, digits and _-#,. as %XX.
func Folder(name string) string {
	var b strings.Builder
	for i, c := range []byte(irc.Fold(name)) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("_-#,", c) >= 0 || c == '.' && i > 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// NameOf returns the folded name of a folder: the inverse of Folder.
func NameOf(folder string) string {
	var b strings.Builder
	for i := 0; i < len(folder); i++ {
		if folder[i] == '%' && i+2 < len(folder) {
			if c, err := strconv.ParseUint(folder[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(folder[i])
	}
	return b.String()
}
