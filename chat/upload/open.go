package upload

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"
)

// inlineTypes are the types that browsers may display, as reported by http.DetectContentType. None
// of them can run scripts.
var inlineTypes = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/bmp": true,
	"audio/mpeg": true, "audio/wave": true, "audio/aiff": true, "audio/basic": true, "application/ogg": true,
	"video/mp4": true, "video/webm": true,
	"text/plain; charset=utf-8": true,
}

// Content is a file to be sent. The caller closes it.
type Content struct {
	*os.File
	Modified time.Time
	// The detected type if it is one of inlineTypes, otherwise application/octet-stream.
	Type string
	// Content-Disposition: inline for inlineTypes, otherwise attachment, with the name
	Disposition string
}

// Open opens the file of a link. The name must be one under which the file was uploaded. If there
// is no such file, the error is ErrNotFound.
func (s *Store) Open(hash, name string) (*Content, error) {
	if there, err := s.hasName(hash, name); err != nil || !there {
		return nil, errors.Join(ErrNotFound, err)
	}
	_, path := contentPath(s.root, hash)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		s.dropMissing(hash)
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	c := &Content{File: f, Type: "application/octet-stream", Disposition: disposition("attachment", name)}
	if err := c.detectType(name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return c, nil
}

// hasName reports whether a file was uploaded under a name. It also reads the disk, because during
// an upgrade another server may have stored the file.
func (s *Store) hasName(hash, name string) (bool, error) {
	s.mu.Lock()
	known := s.files[hash]
	s.mu.Unlock()
	if known == nil || !known.hasName(name) {
		var err error
		if known, err = s.loadFromDisk(hash); known == nil {
			return false, err
		}
	}
	return known.hasName(name), nil
}

// loadFromDisk loads a file's record from the disk; it returns nil if the file does not exist.
func (s *Store) loadFromDisk(hash string) (*file, error) {
	if !validHash(hash) {
		return nil, nil
	}
	_, path := contentPath(s.root, hash)
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil
	}
	r, err := readRecord(s.root, hash)
	if err != nil || !r.removedAt.IsZero() {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[hash] == nil {
		s.totalBytes += diskUsage(info.Size())
	}
	s.files[hash] = &file{info.Size(), r}
	return s.files[hash], nil
}

// detectType sets the type and disposition from the first bytes of the file.
func (c *Content) detectType(name string) error {
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
	if t := http.DetectContentType(first[:n]); inlineTypes[t] {
		c.Type, c.Disposition = t, disposition("inline", name)
	}
	return nil
}
