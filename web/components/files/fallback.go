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
)

// fallbackNext is the Fallback that passes requests on.
const fallbackNext = "next"

// programs are patterns of names that files do not serve while they pass requests on: the component
// behind runs such programs, and their text may have passwords. The patterns match copies that
// editors leave, too.
var programs = []string{"*.php*", "*.phtml*", "*.phar*", "*.cgi*", "*.fcgi*", "*.pl", "*.py", "*.rb"}

// passesOn reports whether a request for which there is no file goes to the component behind.
func (f *files) passesOn() bool { return f.Fallback == fallbackNext }

// setFallback checks Fallback and Hide. indexGiven says that Index was in the configuration.
func (f *files) setFallback(indexGiven bool) error {
	if f.passesOn() && (f.Hide == nil || len(f.Hide) > 0) {
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
	if f.Fallback == "" || f.passesOn() {
		return nil
	}
	f.Fallback = "/" + strings.TrimPrefix(f.Fallback, "/")
	if strings.HasSuffix(f.Fallback, "/") || !isLocal(f.Fallback) {
		return fmt.Errorf("files: fallback is %q, which does not name a file below dir: write a path such as \"/index.html\", or \"next\"", f.Fallback)
	}
	if _, err := f.cleanPath(f.Fallback); err != nil {
		return fmt.Errorf("files: fallback is %q, which is hidden: name a file that clients may get", f.Fallback)
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

// fallbackPage answers with the page of Fallback. Access was decided on the request's path: neither
// a route nor a condition sees the page's own path.
func (f *files) fallbackPage(c *web.Conn) web.Body {
	b, err := f.page(c, f.Fallback)
	if err != nil {
		c.SetErr(fmt.Errorf("files: fallback: %w", err))
		return f.notFound(c)
	}
	return b
}

// otherMethod answers a method other than GET and HEAD. The component behind gets it if the path
// names no file.
func (f *files) otherMethod(c *web.Conn, path string, inside bool) (web.Body, error) {
	if f.passesOn() {
		err := error(fs.ErrNotExist)
		if inside {
			err = f.stat(path)
		}
		if err != nil && isMissing(err) {
			return web.Body{}, err
		}
	}
	c.SetField(allowField)
	return c.StatusBody(http.StatusMethodNotAllowed), nil
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
