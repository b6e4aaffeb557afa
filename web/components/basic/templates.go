package basic

import (
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	texttemplate "text/template"
	"time"
)

// executor is a template of either kind.
type executor interface {
	Execute(w io.Writer, data any) error
}

// templates are parsed files, parsed again when they have changed.
type templates struct {
	files  []string
	html   bool
	every  time.Duration
	failed func(error)
	parsed atomic.Pointer[executor]

	mu   sync.Mutex // guards what follows; who does not get it goes on with what is parsed
	next time.Time  // when the files are looked at again
	seen []stamp    // what they were when they were last parsed, with or without success
}

// stamp tells one state of a file from another.
type stamp struct {
	changed time.Time
	size    int64
}

func newTemplates(files []string, every time.Duration, failed func(error)) (*templates, error) {
	t := &templates{files: slices.Clone(files), every: every, failed: failed}
	t.html = slices.Contains([]string{".html", ".htm", ".gohtml"}, strings.ToLower(filepath.Ext(files[0])))
	var err error
	if t.seen, err = t.stamps(); err != nil {
		return nil, err
	}
	if err := t.parse(); err != nil {
		return nil, err
	}
	t.next = time.Now().Add(every)
	return t, nil
}

func (t *templates) mediaType() string {
	if t.html {
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// current is the template as its files have it, or had it less than every ago.
func (t *templates) current() executor {
	if t.mu.TryLock() {
		if now := time.Now(); !now.Before(t.next) {
			t.next = now.Add(t.every)
			t.refresh()
		}
		t.mu.Unlock()
	}
	return *t.parsed.Load()
}

// refresh parses files that have changed.
func (t *templates) refresh() {
	seen, err := t.stamps()
	if err == nil && slices.Equal(seen, t.seen) || err != nil && t.seen == nil {
		return
	}
	t.seen = seen
	if err == nil {
		err = t.parse()
	}
	if err != nil && t.failed != nil {
		t.failed(fmt.Errorf("template: %w", err))
	}
}

func (t *templates) stamps() ([]stamp, error) {
	var all []stamp
	for _, name := range t.files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		all = append(all, stamp{info.ModTime(), info.Size()})
	}
	return all, nil
}

// parse reads the files.
func (t *templates) parse() error {
	parse := parseText
	if t.html {
		parse = parseHTML
	}
	e, err := parse(t.files)
	if err != nil {
		return err
	}
	t.parsed.Store(&e)
	return nil
}

func parseText(files []string) (executor, error) {
	all := texttemplate.New("")
	err := eachFile(files, func(name, text string) error {
		_, err := all.New(name).Parse(text)
		return err
	})
	return all.Lookup(filepath.Base(files[0])), err
}

// parseHTML also finds the mistakes that html/template finds when it first executes a template:
// text that it can't quote where it stands.
func parseHTML(files []string) (executor, error) {
	all := htmltemplate.New("")
	err := eachFile(files, func(name, text string) error {
		_, err := all.New(name).Parse(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	first := all.Lookup(filepath.Base(files[0]))
	none := func(string) string { return "" }
	err = first.Execute(&limited{}, Request{query: none, header: none})
	if mistake, ok := errors.AsType[*htmltemplate.Error](err); ok {
		return nil, placed(files, mistake)
	}
	return first, nil
}

// eachFile parses the files under the last parts of their names.
func eachFile(files []string, parse func(name, text string) error) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := parse(filepath.Base(file), string(text)); err != nil {
			return placed(files, err)
		}
	}
	return nil
}

// placed is a mistake in a template with the whole name of its file: "site/page.html:3: …".
func placed(files []string, err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "html/template:"), "template: ")
	for _, file := range files {
		if rest, ok := strings.CutPrefix(text, filepath.Base(file)+":"); ok {
			return errors.New(file + ":" + rest)
		}
	}
	return errors.New(text)
}
