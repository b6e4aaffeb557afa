package basic

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"weir/web"
)

// ErrorPagesConfig says which pages [ErrorPages] puts in. The keys of Pages and Files are statuses,
// such as "404", or classes, such as "5xx" or "4xx", which hold for those statuses that have no
// page of their own.
type ErrorPagesConfig struct {
	// pages as texts, with {status} and {reason} in them for the code and what it means
	Pages map[string]string `hcl:"pages,optional"`
	// files that have pages, read when the component is made
	Files map[string]string `hcl:"files,optional"`
	// Content-Type of the pages; empty: text/plain in UTF-8 for texts; what a file's name or first
	// bytes tell
	Type string `hcl:"type,optional"`
	// replace what components have written about a status too, not only the few canned words
	All bool `hcl:"all,optional"`
}

// ErrorPages is a pipe that puts pages in place of the few canned words that say a status: those of
// [Status] and [web.Conn.Reply], those of a composition in which nobody answers, and those of
// exchanges that were lost (500 after a panic, 503 without room).
//
// It looks at the answer where it stands, so that filters behind it see the page, and once more
// before the head is sent. First in a composition, it catches everything.
func ErrorPages(cfg ErrorPagesConfig) (web.Component, error) {
	pages := map[int]*page{}
	for key, text := range cfg.Pages {
		if _, twice := cfg.Files[key]; twice {
			return nil, fmt.Errorf("error_pages: pages and files both have %s: leave one out", key)
		}
		if err := addPage(pages, key, text, "", cfg.Type); err != nil {
			return nil, err
		}
	}
	for key, file := range cfg.Files {
		if err := addPage(pages, key, "", file, cfg.Type); err != nil {
			return nil, err
		}
	}
	if len(pages) == 0 {
		return nil, errors.New("error_pages: pages and files are empty: name the page of a status at least")
	}
	replace := func(c *web.Conn) { replacePage(c, pages, cfg.All) }
	return named("error_pages", web.Pipe(func(c *web.Conn) {
		replace(c)
		c.Before(replace)
	})), nil
}

// addPage adds the page of a status, under its number, or of a class, under its first digit.
func addPage(pages map[int]*page, key, text, file, contentType string) error {
	number, err := strconv.Atoi(key)
	if len(key) == 3 && key[1:] == "xx" && key[0] >= '2' && key[0] <= '5' {
		number, err = int(key[0]-'0'), nil
	} else if err == nil {
		err = checkStatus("error_pages", "a key", number)
	}
	if err != nil {
		return fmt.Errorf("error_pages: %q is no status such as \"404\", and no class such as \"5xx\"", key)
	}
	pages[number], err = newPage("error_pages: "+key, text, file, contentType)
	return err
}

// replacePage puts in the page of the answer's status, if there is one.
func replacePage(c *web.Conn, pages map[int]*page, all bool) {
	status := c.Status()
	p := pages[status]
	if p == nil {
		p = pages[status/100]
	}
	if p == nil || !c.Answered() || c.Body().IsHijack() || !all && !canned(c) {
		return
	}
	c.Answer(p.body(c, status))
}

// canned says whether the answer is the few words that the core has for its status.
func canned(c *web.Conn) bool {
	words, ok := c.Body().Bytes()
	return ok && string(words) == strconv.Itoa(c.Status())+" "+http.StatusText(c.Status())+"\n"
}
