package basic

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weir/web"
	"weir/web/components/internal/page"
)

// ErrorPagesConfig sets the pages of [ErrorPages]. Without Pages and Files, built-in HTML pages
// replace the bodies of statuses from 400 on, for clients that accept text/html.
//
// A key of Pages or Files is a status, such as "404", or a class, such as "4xx" or "5xx". The page
// of a class serves those statuses that have no page of their own.
type ErrorPagesConfig struct {
	// Pages are texts. {status} and {reason} in them stand for the status and its reason phrase.
	// Without Pages and Files, built-in HTML pages replace the bodies of statuses from 400 on, for
	// clients that accept text/html.
	Pages map[string]string `hcl:"pages,optional"`
	// Files are paths of files that contain pages. They are read when the component is made.
	Files map[string]string `hcl:"files,optional"`
	// Type is the Content-Type of the pages. Empty: text/plain in UTF-8 for Pages, and for Files
	// the type of the file's extension or of its first bytes.
	Type string `hcl:"type,optional"`
	// All also replaces bodies that components have written for a status. False: only the default
	// body of a status is replaced.
	All bool `hcl:"all,optional"`
}

// ErrorPages is a pipe that replaces the default body of a status by a page. Default bodies come
// from [Status], from [web.Conn.Reply], from a composition in which no source answers, and from
// exchanges that failed (500 after a panic, 503 without capacity).
//
// It replaces the body twice: at its place, so that filters behind it see the page, and again
// before the header is sent. At the start of a composition it therefore covers every component.
func ErrorPages(cfg ErrorPagesConfig) (web.Component, error) {
	pages := map[int]*errorBody{}
	for _, key := range slices.Sorted(maps.Keys(cfg.Pages)) {
		if _, twice := cfg.Files[key]; twice {
			return nil, fmt.Errorf("error_pages: pages and files both have %s: remove one", key)
		}
		if err := addPage(pages, key, cfg.Pages[key], "", cfg.Type); err != nil {
			return nil, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(cfg.Files)) {
		if err := addPage(pages, key, "", cfg.Files[key], cfg.Type); err != nil {
			return nil, err
		}
	}
	if len(pages) == 0 && cfg.Type != "" {
		return nil, errors.New("error_pages: type is set, but pages and files are empty: add a page, or remove type")
	}
	replace := func(c *web.Conn) { replacePage(c, pages, cfg.All) }
	if len(pages) == 0 {
		builtin := builtinPages()
		replace = func(c *web.Conn) { replaceByBuiltin(c, builtin, cfg.All) }
	}
	return named("error_pages", web.Pipe(func(c *web.Conn) {
		replace(c)
		c.Before(replace)
	})), nil
}

// addPage adds a page under its status, or under the first digit of its class.
func addPage(pages map[int]*errorBody, key, text, file, contentType string) error {
	number, err := strconv.Atoi(key)
	if len(key) == 3 && key[1:] == "xx" && key[0] >= '2' && key[0] <= '5' {
		number, err = int(key[0]-'0'), nil
	} else if err == nil {
		err = checkStatus("error_pages", "a key", number)
	}
	if err != nil {
		return fmt.Errorf("error_pages: %q is neither a status such as \"404\" nor a class such as \"5xx\"", key)
	}
	pages[number], err = newErrorBody("error_pages: "+key, text, file, contentType)
	return err
}

// builtinPages are the HTML pages of all error statuses that have a reason phrase.
var builtinPages = sync.OnceValue(func() map[int]*errorBody {
	html := web.NewField("Content-Type", "text/html; charset=utf-8")
	pages := map[int]*errorBody{}
	for status := http.StatusBadRequest; status < 600; status++ {
		if http.StatusText(status) != "" {
			pages[status] = &errorBody{text: page.Error(status), contentType: html}
		}
	}
	return pages
})

// replaceByBuiltin replaces the body of an error by its built-in page if the client accepts HTML.
func replaceByBuiltin(c *web.Conn, pages map[int]*errorBody, all bool) {
	if c.Status() < http.StatusBadRequest || !c.Answered() || !all && !isStatusBody(c) {
		return
	}
	c.Vary("Accept")
	for _, accept := range c.RequestHeaders("Accept") {
		if strings.Contains(accept, "text/html") {
			replacePage(c, pages, all)
			return
		}
	}
}

// replacePage answers with the page of the response's status, if there is one.
func replacePage(c *web.Conn, pages map[int]*errorBody, all bool) {
	status := c.Status()
	p := pages[status]
	if p == nil {
		p = pages[status/100]
	}
	if p == nil || !c.Answered() || c.Body().IsHijack() || !all && !isStatusBody(c) {
		return
	}
	c.Answer(p.body(c, status))
}

// isStatusBody reports whether the response's body is the default one of its status.
func isStatusBody(c *web.Conn) bool {
	body, ok := c.Body().Bytes()
	return ok && string(body) == strconv.Itoa(c.Status())+" "+http.StatusText(c.Status())+"\n"
}
