package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"weir/web"
	"weir/web/components/internal/candidate"
)

// fallbackNext is the Fallback that passes requests on.
const fallbackNext = "next"

// programs are patterns of names that files do not serve while they pass requests on: the component
// behind runs such programs, and their text may have passwords. The patterns match copies that
// editors leave, too.
var programs = []string{"*.php*", "*.phtml*", "*.phar*", "*.cgi*", "*.fcgi*", "*.pl", "*.py", "*.rb"}

// setFallback checks Fallback and Hide. indexGiven says that Index was in the configuration.
func (f *files) setFallback(indexGiven bool) error {
	if n := len(f.Fallback); n > 0 && f.Fallback[n-1] == fallbackNext {
		f.passesOn = true
	}
	if f.passesOn && (f.Hide == nil || len(f.Hide) > 0) {
		f.Hide = slices.Concat(f.Hide, programs)
	}
	for _, pattern := range f.Hide {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.Contains(pattern, "/") {
			return fmt.Errorf("files: hide has %q, which is not a pattern of names: write one such as \"*.bak\"", pattern)
		}
		f.hidden = append(f.hidden, strings.ToLower(pattern))
	}
	f.indexHidden = f.hides(f.Index)
	if f.indexHidden && indexGiven {
		return fmt.Errorf("files: index is %q, which is hidden: remove it, or set hide to other names", f.Index)
	}
	return f.setCandidates()
}

// setCandidates checks the paths of Fallback.
func (f *files) setCandidates() error {
	if len(f.Fallback) > candidate.Max {
		return fmt.Errorf("files: fallback has %d elements, the maximum is %d", len(f.Fallback), candidate.Max)
	}
	for i, text := range f.Fallback {
		if f.passesOn && i == len(f.Fallback)-1 {
			break
		}
		c, err := candidate.Parse(text)
		if err != nil {
			return fmt.Errorf("files: fallback: %w", err)
		}
		path := c.Example()
		if strings.HasSuffix(path, "/") || !isLocal(path) {
			return fmt.Errorf("files: fallback is %q, which does not name a file below dir: write a path such as \"/index.html\", or \"next\" as the last", path)
		}
		if _, err := f.cleanPath(path); err != nil {
			return fmt.Errorf("files: fallback is %q, which is hidden: name a file that clients may get", text)
		}
		f.candidates = append(f.candidates, c)
	}
	return nil
}

// hides reports whether a name matches a pattern of Hide.
func (f *files) hides(name string) bool {
	if len(f.hidden) == 0 {
		return false
	}
	name = strings.ToLower(name)
	for _, pattern := range f.hidden {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// isMissing reports whether an error means that the path names no file, so that the fallback
// answers. A hidden name, and a file that cannot be read, have an answer of their own.
func isMissing(err error) bool {
	return !errors.Is(err, errHidden) && !errors.Is(err, errUnstable) && !errors.Is(err, fs.ErrPermission) && !isTransient(err)
}

// tryCandidates answers with the first page of Fallback that exists, or returns why there is none.
// Access was decided on the request's path: neither a route nor a condition sees the path of a page
// that the configuration names as a whole.
func (f *files) tryCandidates(c *web.Conn, missing error) (web.Body, error) {
	if m := c.Method(); m != http.MethodGet && m != http.MethodHead {
		return web.Body{}, missing
	}
	last := missing
	for _, page := range f.candidates {
		path, ok := f.candidatePath(c, page)
		if !ok {
			continue
		}
		e, err := f.load(c, path)
		if err == nil {
			return f.body(c, e)
		}
		if !isMissing(err) {
			return web.Body{}, err
		}
		if last = missing; !page.HasPath {
			last = err
		}
	}
	if last != missing && !f.passesOn {
		c.SetErr(fmt.Errorf("files: fallback: %w", last))
	}
	return web.Body{}, missing
}

// candidatePath returns the path below dir of a page of Fallback, and false if the request must not
// get it.
func (f *files) candidatePath(c *web.Conn, page candidate.Candidate) (string, bool) {
	requested, ok := strings.CutPrefix(c.Path(), f.Strip)
	if !ok && page.HasPath {
		return "", false
	}
	path, ok := page.For(requested)
	if !ok || !page.HasPath {
		return path, ok
	}
	clean, err := f.cleanPath(path)
	return clean, err == nil && c.DecidedAlike(f.Strip+clean)
}

// otherMethod answers a method other than GET and HEAD. The component behind gets it if the path
// names no file.
func (f *files) otherMethod(c *web.Conn, path string, inside bool) (web.Body, error) {
	if f.passesOn {
		c.LeaveLoop()
		err := error(fs.ErrNotExist)
		if inside {
			err = f.stat(path)
		}
		if err != nil && isMissing(err) && !f.hasCandidate(c) {
			return web.Body{}, err
		}
	}
	c.SetField(allowField)
	return c.StatusBody(http.StatusMethodNotAllowed), nil
}

// hasCandidate reports whether GET would be answered by a page of Fallback.
func (f *files) hasCandidate(c *web.Conn) bool {
	return slices.ContainsFunc(f.candidates, func(page candidate.Candidate) bool {
		path, ok := f.candidatePath(c, page)
		if ok {
			_, err := f.root.stat(rootName(path))
			ok = err == nil
		}
		return ok
	})
}

// stat returns nil if GET of the path would be answered with a file, a listing or a redirect.
func (f *files) stat(path string) error {
	if path == "" {
		path = "/"
	}
	clean, err := f.cleanPath(path)
	if err != nil {
		return err
	}
	if strings.HasSuffix(clean, "/") {
		return f.statDirectory(clean)
	}
	if _, err = f.root.stat(rootName(clean)); errors.Is(err, errDirectory) {
		return f.statDirectory(clean + "/")
	}
	return err
}

// statDirectory returns nil if a directory exists that is answered by its index file or a listing.
func (f *files) statDirectory(clean string) error {
	if f.List {
		if _, err := f.root.stat(rootName(clean)); errors.Is(err, errDirectory) {
			return nil
		}
	}
	if f.indexHidden {
		return fs.ErrNotExist
	}
	_, err := f.root.stat(rootName(clean + f.Index))
	return err
}
