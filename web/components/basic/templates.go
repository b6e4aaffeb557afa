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

	"weir/web"
)

// executor is a template of html/template or text/template.
type executor interface {
	Execute(w io.Writer, data any) error
}

// templates are parsed files, which are parsed again when they change.
type templates struct {
	files         []string
	isHTML        bool
	checkInterval time.Duration
	onFailure     func(error)
	parsed        atomic.Pointer[executor]

	// Guards the fields below. A goroutine that does not get it uses the parsed templates.
	mu        sync.Mutex
	nextCheck time.Time   // when files are checked for changes next
	states    []fileState // at the latest parse, whether that succeeded or failed
}

// fileState identifies one state of a file.
type fileState struct {
	modifiedAt time.Time
	size       int64
}

func newTemplates(files []string, every time.Duration, failed func(error)) (*templates, error) {
	t := &templates{files: slices.Clone(files), checkInterval: every, onFailure: failed}
	t.isHTML = slices.Contains([]string{".html", ".htm", ".gohtml"}, strings.ToLower(filepath.Ext(files[0])))
	var err error
	if t.states, err = t.readStates(); err != nil {
		return nil, err
	}
	if err := t.parse(); err != nil {
		return nil, err
	}
	t.nextCheck = time.Now().Add(every)
	return t, nil
}

func (t *templates) mediaType() string {
	if t.isHTML {
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// current returns the template of the files' content, at most checkInterval old.
func (t *templates) current(c *web.Conn) executor {
	if t.mu.TryLock() {
		if now := time.Now(); !now.Before(t.nextCheck) {
			c.LeaveLoop()
			t.nextCheck = now.Add(t.checkInterval)
			t.refreshLocked()
		}
		t.mu.Unlock()
	}
	return *t.parsed.Load()
}

// refreshLocked parses files that have changed. The caller holds mu.
func (t *templates) refreshLocked() {
	seen, err := t.readStates()
	if err == nil && slices.Equal(seen, t.states) || err != nil && t.states == nil {
		return
	}
	t.states = seen
	if err == nil {
		err = t.parse()
	}
	if err != nil && t.onFailure != nil {
		t.onFailure(fmt.Errorf("template: %w", err))
	}
}

func (t *templates) readStates() ([]fileState, error) {
	var all []fileState
	for _, name := range t.files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		all = append(all, fileState{info.ModTime(), info.Size()})
	}
	return all, nil
}

// parse reads and parses the files.
func (t *templates) parse() error {
	parse := parseText
	if t.isHTML {
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
	err := parseFiles(files, func(name, text string) error {
		_, err := all.New(name).Parse(text)
		return err
	})
	return all.Lookup(filepath.Base(files[0])), err
}

// parseHTML also executes the template once. html/template then reports text that it cannot escape
// in its context.
func parseHTML(files []string) (executor, error) {
	all := htmltemplate.New("")
	err := parseFiles(files, func(name, text string) error {
		_, err := all.New(name).Parse(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	first := all.Lookup(filepath.Base(files[0]))
	none := func(string) string { return "" }
	err = first.Execute(&limitedBuffer{}, Request{query: none, header: none})
	if mistake, ok := errors.AsType[*htmltemplate.Error](err); ok {
		return nil, withPath(files, mistake)
	}
	return first, nil
}

// parseFiles parses each file under the last element of its path.
func parseFiles(files []string, parse func(name, text string) error) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := parse(filepath.Base(file), string(text)); err != nil {
			return withPath(files, err)
		}
	}
	return nil
}

// withPath returns an error of a template with the file's full path: "site/page.html:3: …".
func withPath(files []string, err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "html/template:"), "template: ")
	for _, file := range files {
		if rest, ok := strings.CutPrefix(text, filepath.Base(file)+":"); ok {
			return errors.New(file + ":" + rest)
		}
	}
	return errors.New(text)
}
