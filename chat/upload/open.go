package upload

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"
)

// inline are the types that browsers may show by themselves: what http.DetectContentType makes of a
// file's first bytes. None of them can run anything.
var inline = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/bmp": true,
	"audio/mpeg": true, "audio/wave": true, "audio/aiff": true, "audio/basic": true, "application/ogg": true,
	"video/mp4": true, "video/webm": true,
	"text/plain; charset=utf-8": true,
}

// Content is a file to be sent. Who has it closes it.
type Content struct {
	*os.File
	Modified time.Time
	// what its first bytes are, if it is one that can be shown, and otherwise
	// application/octet-stream
	Type        string
	Disposition string // inline if it can be shown, otherwise attachment, with its name
}

// Open opens a file for who has a link. The name is one that it was uploaded by. What is not there
// is ErrNone.
func (s *Store) Open(hash, name string) (*Content, error) {
	if there, err := s.knows(hash, name); err != nil || !there {
		return nil, errors.Join(ErrNone, err)
	}
	_, path := place(s.root, hash)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		s.missing(hash)
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	c := &Content{File: f, Type: "application/octet-stream", Disposition: disposition("attachment", name)}
	if err := c.look(name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return c, nil
}

// knows says whether a file was uploaded by a name. What another server has taken, whose place this
// one takes, is on the disk only.
func (s *Store) knows(hash, name string) (bool, error) {
	s.mu.Lock()
	known := s.files[hash]
	s.mu.Unlock()
	if known == nil || !known.named(name) {
		var err error
		if known, err = s.find(hash); known == nil {
			return false, err
		}
	}
	return known.named(name), nil
}

// find looks for a file on the disk, and returns nil if it is not there.
func (s *Store) find(hash string) (*file, error) {
	if !validHash(hash) {
		return nil, nil
	}
	_, path := place(s.root, hash)
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil
	}
	r, err := readRecord(s.root, hash)
	if err != nil || !r.removed.IsZero() {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[hash] == nil {
		s.total += cost(info.Size())
	}
	s.files[hash] = &file{info.Size(), r}
	return s.files[hash], nil
}

// look finds out what a file is.
func (c *Content) look(name string) error {
	info, err := c.Stat()
	if err != nil {
		return err
	}
	c.Modified = info.ModTime()
	first := make([]byte, 512)
	n, err := c.ReadAt(first, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if t := http.DetectContentType(first[:n]); inline[t] {
		c.Type, c.Disposition = t, disposition("inline", name)
	}
	return nil
}
