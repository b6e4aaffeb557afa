package upload

import (
	"bytes"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/durable"
)

// Sharing is an upload of a file by somebody.
type Sharing struct {
	At      time.Time `json:"at"`      // UTC, whole seconds
	Account string    `json:"account"` // who
	Name    string    `json:"name"`    // as CleanName has it
}

// record is a file HASH.info.
type record struct {
	sharings []Sharing // the oldest first
	// an administrator removed the file then, and it is not taken again; zero: no
	removed time.Time
}

// maxSharings is how many uploads of the same content are remembered, the newest.
const maxSharings = 64

// parse reads the text of an info file. Lines that can't be read are left out.
func parseRecord(text []byte) (r record) {
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == "removed" {
			r.removed, _ = parseTime(words[1])
		}
		if len(words) != 3 {
			continue
		}
		at, err := parseTime(words[0])
		name, bad := url.PathUnescape(words[2])
		if err == nil && bad == nil && name == CleanName(name) {
			r.sharings = append(r.sharings, Sharing{at, words[1], name})
		}
	}
	return r
}

// parseTime reads a time, to the second.
func parseTime(s string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, s)
	at = at.UTC().Truncate(time.Second)
	if err == nil && (at.Year() < 1970 || at.Year() > 9999) {
		err = errors.New("no time of this server")
	}
	if err != nil {
		return time.Time{}, err
	}
	return at, nil
}

// text is what parseRecord reads.
func (r record) text() []byte {
	var b bytes.Buffer
	if !r.removed.IsZero() {
		b.WriteString("removed " + r.removed.UTC().Format(time.RFC3339) + "\n")
	}
	for _, s := range r.sharings {
		b.WriteString(s.At.UTC().Format(time.RFC3339) + " " + s.Account + " " + url.PathEscape(s.Name) + "\n")
	}
	return b.Bytes()
}

// add notes one more upload. One by the same account and name takes the place of the one before.
func (r *record) add(s Sharing) {
	kept := r.sharings[:0:0]
	for _, other := range r.sharings {
		if other.Account != s.Account || other.Name != s.Name {
			kept = append(kept, other)
		}
	}
	r.sharings = append(kept, s)
	if n := len(r.sharings) - maxSharings; n > 0 {
		r.sharings = r.sharings[n:]
	}
}

// named says whether the file was uploaded by a name.
func (r record) named(name string) bool {
	for _, s := range r.sharings {
		if s.Name == name {
			return true
		}
	}
	return false
}

// last is when the file was last uploaded.
func (r record) last() (at time.Time) {
	for _, s := range r.sharings {
		if s.At.After(at) {
			at = s.At
		}
	}
	return at
}

const infoEnding = ".info"

// place is where a file is: its folder, and its path.
func place(root, hash string) (folder, path string) {
	folder = filepath.Join(root, hash[:2])
	return folder, filepath.Join(folder, hash)
}

// validHash says whether a text is a hash, and so nothing that leads elsewhere.
func validHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// readRecord reads a file's record; none is an empty one.
func readRecord(root, hash string) (record, error) {
	_, path := place(root, hash)
	text, err := os.ReadFile(path + infoEnding)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return record{}, err
	}
	return parseRecord(text), nil
}

// writeRecord writes a file's record, durably.
func writeRecord(root, hash string, r record) error {
	_, path := place(root, hash)
	return durable.ReplaceFile(path+infoEnding, r.text(), 0o600)
}
