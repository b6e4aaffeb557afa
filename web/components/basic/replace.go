package basic

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"weir/web"
)

// ReplaceConfig says what [Replace] puts in place of what.
type ReplaceConfig struct {
	Old string `hcl:"old"`          // what is replaced, wherever it is: 1 to 256 bytes
	New string `hcl:"new,optional"` // what stands there then
	// media types of the bodies that are changed, such as "text/css"; empty: all of text/
	Types []string `hcl:"types,optional"`
}

// Replace is a filter that replaces a text in bodies as they pass, also where the parts that are
// written cut it in two: it holds back what may be its beginning. Put it before a filter that
// compresses.
func Replace(cfg ReplaceConfig) (web.Component, error) {
	if cfg.Old == "" || len(cfg.Old) > 256 {
		return nil, errors.New("replace: old must have 1 to 256 bytes: write what is to be replaced")
	}
	if cfg.New == cfg.Old {
		return nil, errors.New("replace: new is what old is: there is nothing to do")
	}
	old, with := []byte(cfg.Old), []byte(cfg.New)
	types := slices.Clone(cfg.Types)
	transform := func(next io.Writer) io.WriteCloser { return &replacer{next: next, old: old, with: with} }
	return named("replace", web.Filter(func(c *web.Conn) web.Transform {
		kind := plainMedia(c)
		if len(types) == 0 && strings.HasPrefix(kind, "text/") || slices.Contains(types, kind) && kind != "" {
			return transform
		}
		return nil
	})), nil
}

// replacer passes a body on, with one text in place of another.
type replacer struct {
	next      io.Writer
	old, with []byte
	// the end of what was written, which may be the beginning of old: shorter than that
	held []byte
}

// atOnce is how much is looked at at once: with what was held, it may be copied.
const atOnce = 32 << 10

// Write implements [io.Writer].
func (w *replacer) Write(p []byte) (int, error) {
	for from := 0; from < len(p); from += atOnce {
		if err := w.write(p[from:min(len(p), from+atOnce)]); err != nil {
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
		if err := writeAll(w.next, rest[:at], w.with); err != nil {
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

// overlap is how many bytes at the end of text are the beginning of old, but not all of it.
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
