package basic

import (
	"bytes"
	"fmt"
	"io"

	"weir/web"
)

// InjectConfig says what [Inject] puts into pages, and where.
type InjectConfig struct {
	Text string `hcl:"text,optional"` // what is put in
	// a file that has it, read when the component is made; instead of Text
	File   string `hcl:"file,optional"`
	Before string `hcl:"before,optional"` // "head" or "body": the end of that element; empty: body
}

// Inject is a filter that puts a text before the first </head> or </body> of HTML pages, as they
// pass: it holds back no more than the bytes that may be the beginning of that tag. A page without
// the tag stays as it is; tags in comments and scripts count, for it does not parse. Put it before
// a filter that compresses.
func Inject(cfg InjectConfig) (web.Component, error) {
	text, _, err := content("inject", cfg.Text, cfg.File, "")
	if err != nil {
		return nil, err
	}
	tag := map[string]string{"": "</body", "body": "</body", "head": "</head"}[cfg.Before]
	switch {
	case tag == "":
		return nil, fmt.Errorf("inject: before is %q: write \"head\" or \"body\"", cfg.Before)
	case len(text) == 0:
		return nil, fmt.Errorf("inject: text is empty: write what is to be put in, or name a file that has it")
	}
	transform := func(next io.Writer) io.WriteCloser { return &injector{next: next, text: text, tag: tag} }
	return named("inject", web.Filter(func(c *web.Conn) web.Transform {
		if plainMedia(c) != "text/html" {
			return nil
		}
		return transform
	})), nil
}

// injector passes a page on, looking for a tag.
type injector struct {
	next io.Writer
	text []byte
	tag  string // without the > that ends it; the '<' it begins with is its only one
	held []byte // what was written and may be the tag: shorter than the tag and a byte
	done bool   // the text is in
}

// Write implements [io.Writer].
func (w *injector) Write(p []byte) (int, error) {
	if len(w.held) > 0 {
		if taken, err := w.goOn(p); taken || err != nil {
			return len(p), err
		}
	}
	at, whole := len(p), false
	if !w.done {
		at, whole = w.find(p)
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

// goOn looks at what is held together with what follows. It reports true when p is taken with that,
// and otherwise lets go of what was held.
func (w *injector) goOn(p []byte) (taken bool, err error) {
	was := len(w.held)
	joined := append(w.held, p[:min(len(p), len(w.tag)+1-was)]...)
	at, whole := w.find(joined)
	switch {
	case at > 0:
		return false, w.release()
	case whole:
		w.held = w.held[:0]
		return true, writeAll(w.next, w.text, joined[:was], p)
	}
	w.held = joined
	return true, nil
}

// find looks for the tag: where it is and true, or where its beginning is at the end of p, or the
// length of p.
func (w *injector) find(p []byte) (at int, whole bool) {
	for at < len(p) {
		start := bytes.IndexByte(p[at:], '<')
		if start < 0 {
			break
		}
		at += start
		n := 1
		for n < len(w.tag) && at+n < len(p) && lower(p[at+n]) == w.tag[n] {
			n++
		}
		switch {
		case at+n == len(p):
			return at, false
		case n == len(w.tag) && endsName(p[at+n]):
			w.done = true
			return at, true
		}
		at += n
	}
	return len(p), false
}

func (w *injector) release() error {
	err := writeAll(w.next, w.held)
	w.held = w.held[:0]
	return err
}

// Close implements [io.Closer]: a tag that was not ended is none.
func (w *injector) Close() error { return w.release() }

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// endsName says whether the name of a tag ends before this byte.
func endsName(b byte) bool {
	switch b {
	case '>', '/', ' ', '\t', '\n', '\r', '\f':
		return true
	}
	return false
}
