package basic

import (
	"bytes"
	"fmt"
	"io"

	"weir/web"
)

// InjectConfig sets what [Inject] adds to pages, and where.
type InjectConfig struct {
	Text string `hcl:"text,optional"` // Text is added to each page.
	// File is the path of a file with the text, instead of Text. It is read when the component is
	// made.
	File string `hcl:"file,optional"`
	// Before is the element at whose end the text is added: "head" or "body". Empty: "body".
	Before string `hcl:"before,optional"`
}

// Inject is a filter that adds a text before the first </head> or </body> of HTML pages, while they
// are streamed. It buffers only bytes that may be the beginning of that tag. A page without the tag
// is unchanged. It does not parse HTML: tags in comments and scripts count. Put it before a filter
// that compresses.
func Inject(cfg InjectConfig) (web.Component, error) {
	text, _, err := readContent("inject", cfg.Text, cfg.File, "")
	if err != nil {
		return nil, err
	}
	tag := map[string]string{"": "</body", "body": "</body", "head": "</head"}[cfg.Before]
	switch {
	case tag == "":
		return nil, fmt.Errorf("inject: before is %q: write \"head\" or \"body\"", cfg.Before)
	case len(text) == 0:
		return nil, fmt.Errorf("inject: text is empty: write the text to add, or the path of a file that contains it")
	}
	transform := func(next io.Writer) io.WriteCloser { return &injector{next: next, text: text, tag: tag} }
	return named("inject", web.Filter(func(c *web.Conn) web.Transform {
		if textMediaType(c) != "text/html" {
			return nil
		}
		return transform
	})), nil
}

// injector streams a page and looks for a tag.
type injector struct {
	next     io.Writer
	text     []byte
	tag      string // without the final >; contains no '<' except the first
	held     []byte // end of the input that may begin the tag: at most len(tag) bytes
	injected bool   // the text has been written
}

// Write implements [io.Writer].
func (w *injector) Write(p []byte) (int, error) {
	if len(w.held) > 0 {
		if taken, err := w.writeHeld(p); taken || err != nil {
			return len(p), err
		}
	}
	at, whole := len(p), false
	if !w.injected {
		at, whole = w.findTag(p)
	}
	if whole {
		return len(p), writeAll(w.next, p[:at], w.text, p[at:])
	}
	if err := writeAll(w.next, p[:at]); err != nil {
		return 0, err
	}
	w.held = append(w.held, p[at:]...)
	return len(p), nil
}

// writeHeld looks for the tag in the held bytes together with p. It reports whether it has
// processed p; otherwise it has written the held bytes and p is still to be searched.
func (w *injector) writeHeld(p []byte) (taken bool, err error) {
	was := len(w.held)
	joined := append(w.held, p[:min(len(p), len(w.tag)+1-was)]...)
	at, whole := w.findTag(joined)
	switch {
	case at > 0:
		return false, w.flushHeld()
	case whole:
		w.held = w.held[:0]
		return true, writeAll(w.next, w.text, joined[:was], p)
	}
	w.held = joined
	return true, nil
}

// findTag returns the index of the tag and true, or the index at which p ends with a beginning of
// the tag, or len(p).
func (w *injector) findTag(p []byte) (at int, whole bool) {
	for at < len(p) {
		start := bytes.IndexByte(p[at:], '<')
		if start < 0 {
			break
		}
		at += start
		n := 1
		for n < len(w.tag) && at+n < len(p) && toLower(p[at+n]) == w.tag[n] {
			n++
		}
		switch {
		case at+n == len(p):
			return at, false
		case n == len(w.tag) && endsTagName(p[at+n]):
			w.injected = true
			return at, true
		}
		at += n
	}
	return len(p), false
}

func (w *injector) flushHeld() error {
	err := writeAll(w.next, w.held)
	w.held = w.held[:0]
	return err
}

// Close implements [io.Closer]. It writes a beginning of a tag that was not completed.
func (w *injector) Close() error { return w.flushHeld() }

func toLower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// endsTagName reports whether the byte after the name of a tag ends that name.
func endsTagName(b byte) bool {
	switch b {
	case '>', '/', ' ', '\t', '\n', '\r', '\f':
		return true
	}
	return false
}
