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

// Sharing is one upload of a file.
type Sharing struct {
	At      time.Time `json:"at"`      // UTC, whole seconds
	Account string    `json:"account"` // the uploader
	Name    string    `json:"name"`    // as returned by CleanName
}

// record is the content of a file HASH.info.
type record struct {
	sharings []Sharing // oldest first
	// When an administrator removed the file; its content is refused since then. Zero if not
	// removed.
	removedAt time.Time
}

// maxSharings is the number of uploads of one content that a record keeps, the newest.
const maxSharings = 64

// parseRecord parses an info file. Invalid lines are skipped.
func parseRecord(text []byte) (r record) {
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == "removed" {
			r.removedAt, _ = parseTime(words[1])
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

// parseTime parses a time and truncates it to seconds.
func parseTime(s string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, s)
	at = at.UTC().Truncate(time.Second)
	if err == nil && (at.Year() < 1970 || at.Year() > 9999) {
		err = errors.New("the year is not between 1970 and 9999")
	}
	if err != nil {
		return time.Time{}, err
	}
	return at, nil
}

// encode returns the record in the format that parseRecord parses.
func (r record) encode() []byte {
	var b bytes.Buffer
	if !r.removedAt.IsZero() {
		b.WriteString("removed " + r.removedAt.UTC().Format(time.RFC3339) + "\n")
	}
	for _, s := range r.sharings {
		b.WriteString(s.At.UTC().Format(time.RFC3339) + " " + s.Account + " " + url.PathEscape(s.Name) + "\n")
	}
	return b.Bytes()
}

// add adds an upload. It replaces an earlier upload with the same account and name.
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

// hasName reports whether the file was uploaded under a name.
func (r record) hasName(name string) bool {
	for _, s := range r.sharings {
		if s.Name == name {
			return true
		}
	}
	return false
}

// lastUpload returns the time of the last upload.
func (r record) lastUpload() (at time.Time) {
	for _, s := range r.sharings {
		if s.At.After(at) {
			at = s.At
		}
	}
	return at
}

const infoSuffix = ".info"

// contentPath returns the folder and the path of a file's content.
func contentPath(root, hash string) (folder, path string) {
	folder = filepath.Join(root, hash[:2])
	return folder, filepath.Join(folder, hash)
}

// validHash reports whether s is a SHA-256 in hex, and so a safe file name.
func validHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// readRecord reads a file's record. A missing record is empty.
func readRecord(root, hash string) (record, error) {
	_, path := contentPath(root, hash)
	text, err := os.ReadFile(path + infoSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return record{}, err
	}
	return parseRecord(text), nil
}

// writeRecord writes a file's record durably.
func writeRecord(root, hash string, r record) error {
	_, path := contentPath(root, hash)
	return durable.ReplaceFile(path+infoSuffix, r.encode(), 0o600)
}
