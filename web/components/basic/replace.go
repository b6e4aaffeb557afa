package basic

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"weir/web"
)

// ReplaceConfig sets which text [Replace] replaces.
type ReplaceConfig struct {
	// Old is the text to replace, wherever it occurs: 1 to 256 bytes.
	Old string `hcl:"old"`
	New string `hcl:"new,optional"` // New is the text that replaces Old.
	// Types are the media types of the bodies that are changed, such as "text/css". Empty: all of
	// text/.
	Types []string `hcl:"types,optional"`
}

// Replace is a filter that replaces a text in bodies while they are streamed. It also finds a text
// that two writes split, because it buffers bytes that may be the beginning of Old. Put it before a
// filter that compresses.
func Replace(cfg ReplaceConfig) (web.Component, error) {
	if cfg.Old == "" || len(cfg.Old) > 256 {
		return nil, errors.New("replace: old must have 1 to 256 bytes: write the text to replace")
	}
	if cfg.New == cfg.Old {
		return nil, errors.New("replace: new equals old: there is nothing to replace")
	}
	old, with := []byte(cfg.Old), []byte(cfg.New)
	types := slices.Clone(cfg.Types)
	transform := func(next io.Writer) io.WriteCloser { return &replacer{next: next, old: old, replacement: with} }
	return named("replace", web.Filter(func(c *web.Conn) web.Transform {
		kind := textMediaType(c)
		if len(types) == 0 && strings.HasPrefix(kind, "text/") || slices.Contains(types, kind) && kind != "" {
			return transform
		}
		return nil
	})), nil
}

// replacer streams a body and replaces a text in it.
type replacer struct {
	next             io.Writer
	old, replacement []byte
	// the end of the input that may be the beginning of old: shorter than old
	held []byte
}

// maxPiece limits how much input is searched at a time, and so how much may be copied to join it
// with held.
const maxPiece = 32 << 10

// Write implements [io.Writer].
func (w *replacer) Write(p []byte) (int, error) {
	for from := 0; from < len(p); from += maxPiece {
		if err := w.write(p[from:min(len(p), from+maxPiece)]); err != nil {
			return from, err
		}
	}
	return len(p), nil
}

func (w *replacer) write(rest []byte) error {
	if len(w.held) > 0 {
		rest = append(w.held, rest...)
	}
	for {
		at := bytes.Index(rest, w.old)
		if at < 0 {
			break
		}
		if err := writeAll(w.next, rest[:at], w.replacement); err != nil {
			return err
		}
		rest = rest[at+len(w.old):]
	}
	keep := overlap(rest, w.old)
	if err := writeAll(w.next, rest[:len(rest)-keep]); err != nil {
		return err
	}
	w.held = append(w.held[:0], rest[len(rest)-keep:]...)
	return nil
}

// overlap returns how many bytes at the end of text are the beginning of old, but not all of it.
func overlap(text, old []byte) int {
	for n := min(len(text), len(old)-1); n > 0; n-- {
		if bytes.HasSuffix(text, old[:n]) {
			return n
		}
	}
	return 0
}

// Close implements [io.Closer].
func (w *replacer) Close() error {
	err := writeAll(w.next, w.held)
	w.held = nil
	return err
}
