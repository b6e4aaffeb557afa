// Package data finds the rooms and conversations in a chat's data directory: what their folders are
// called, and what a folder's room is called. docs/protocol.md says what is in such a folder;
// package chat/log reads it.
//
// Limitations: a room whose file "state" is lost is called by the name of its folder, in small
// letters.
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
)

// Folders of the data directory, each of which has a folder for every log.
const (
	Rooms  = "rooms"
	Direct = "direct"
)

// maxFolder is the longest name of a log's folder, in bytes.
const maxFolder = 200

// Room is a room, or a conversation of two accounts.
type Room struct {
	Name   string // "#Family" as it is written, or "ann,bob": two accounts, folded and in order
	Path   string // below the data directory: "rooms/#family", "direct/ann,bob"
	Direct bool   // a conversation
}

// ErrName means that nothing can be called so.
var ErrName = errors.New("not a name of a room")

// ErrNone means that a directory has neither rooms nor conversations: it is no chat's, or nobody
// ever spoke there.
var ErrNone = errors.New("it has neither rooms nor conversations: name the data directory of a chat")

// List returns the rooms of a data directory, then the conversations, each in the order of their
// folders. A directory with neither is ErrNone.
func List(dir string) ([]Room, error) {
	var all []Room
	found := false
	for _, kind := range []string{Rooms, Direct} {
		entries, err := os.ReadDir(filepath.Join(dir, kind))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		found = found || err == nil
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, open(dir, kind, e.Name()))
			}
		}
	}
	if !found {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	return all, nil
}

// open says what a folder's room is called.
func open(dir, kind, folder string) Room {
	r := Room{Name: NameOf(folder), Path: kind + "/" + folder, Direct: kind == Direct}
	if r.Direct {
		return r
	}
	state, _ := os.ReadFile(filepath.Join(dir, kind, folder, "state"))
	for line := range bytes.Lines(state) {
		m, err := ircmsg.ParseLine(string(line))
		if err == nil && len(m.Params) > 0 && irc.ValidRoom(m.Params[0]) && irc.Fold(m.Params[0]) == r.Name {
			r.Name = m.Params[0]
			break
		}
	}
	return r
}

// Named returns the room or conversation with a name, whether it is there or not. For a
// conversation the two accounts may be in any order and spelling.
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
		return Room{}, fmt.Errorf("%q is %w: it is too long for the name of a folder", name, ErrName)
	}
	return r, nil
}

// Folder is what the folder of a room or conversation is called: its name folded, with what is not
// plain as %XX.
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

// NameOf undoes Folder. The name is folded.
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
