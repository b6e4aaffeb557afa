package files

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"strings"

	"weir/web"
	"weir/web/components/internal/slash"
)

// errHidden is the reason for a path with a name that is never served, whether it exists or not.
var errHidden = errors.New("files: the path has a name that begins with a dot, or an invalid one")

// cleanPath returns the path without empty and "." segments. It returns errHidden for a name that
// begins with a dot, a ".." segment, which clients resolve before they send a request (RFC 3986,
// section 5.2.4), NUL and backslashes, and [fs.ErrNotExist] for a name that Hide has.
func (f *files) cleanPath(p string) (string, error) {
	if p[0] != '/' || strings.ContainsAny(p, "\\\x00") {
		return "", errHidden
	}
	first := true
	for part := range strings.SplitSeq(p[1:], "/") {
		if part == ".." {
			return "", errHidden
		}
		if strings.HasPrefix(part, ".") && part != "." && !f.Dotfiles && !(first && part == ".well-known") {
			return "", errHidden
		}
		if f.hides(part) {
			return "", fs.ErrNotExist
		}
		first = first && (part == "" || part == ".")
	}
	clean := path.Clean(p)
	if clean != "/" && (strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.")) {
		clean += "/"
	}
	return clean, nil
}

// isLocal reports whether a path that begins with a slash stays below the root.
func isLocal(p string) bool { return p != "/" && filepath.IsLocal(filepath.FromSlash(p[1:])) }

// rootName returns the path in the form that os.Root expects.
func rootName(clean string) string {
	if n := strings.Trim(clean, "/"); n != "" {
		return filepath.FromSlash(n)
	}
	return "."
}

// directory answers for a directory; clean ends in a slash.
func (f *files) directory(c *web.Conn, clean string) (web.Body, error) {
	c.LeaveLoop()
	e, err := f.readIndex(clean)
	switch {
	case err == nil:
		return f.body(c, e)
	case f.List && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDirectory)):
		return f.list(c, clean)
	}
	return web.Body{}, err
}

// readIndex makes the entry of a directory's index file.
func (f *files) readIndex(clean string) (*entry, error) {
	if f.indexHidden {
		return nil, fs.ErrNotExist
	}
	return f.read(clean, clean+f.Index)
}

// redirectToSlash answers for a directory that was requested without a final slash. Relative links
// of its page would lead elsewhere, so the client is redirected to the name with a slash. If the
// request's path had the slash, an earlier component has removed it, and no redirect is needed.
func (f *files) redirectToSlash(c *web.Conn, clean string) (web.Body, error) {
	where, ok := slash.Location(c.RequestURI())
	if !ok {
		return f.directory(c, clean)
	}
	body := c.StatusBody(http.StatusMovedPermanently)
	c.SetHeader("Location", where)
	return body, nil
}
