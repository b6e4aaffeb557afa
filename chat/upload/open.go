package upload

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"
)

// inline are the types that browsers may show by themselves: what http.DetectContentType makes of a file's first bytes. None of them can run anything.
var inline = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/bmp": true,
	"audio/mpeg": true, "audio/wave": true, "audio/aiff": true, "audio/basic": true, "application/ogg": true,
	"video/mp4": true, "video/webm": true,
	"text/plain; charset=utf-8": true,
}

// Content is a file to be sent. Who has it closes it.
type Content struct {
	*os.File
	Modified    time.Time
	Type        string // what its first bytes are, if it is one that can be shown, and otherwise application/octet-stream
	Disposition string // inline if it can be shown, otherwise attachment, with its name
}

// Open opens a file for who has a link. The name is one that it was uploaded by. What is not there is ErrNone.
func (s *Store) Open(hash, name string) (*Content, error) {
	s.mu.Lock()
	known := s.files[hash]
	there := known != nil && known.named(name)
	s.mu.Unlock()
	if !there {
		return nil, ErrNone
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
