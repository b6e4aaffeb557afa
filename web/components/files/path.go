package files

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"strings"

	"weir/web"
)

// cleanPath returns the path without empty and "." segments, and whether it may name a file. It
// rejects ".." segments, which clients resolve before they send a request (RFC 3986, section
// 5.2.4), NUL and backslashes.
func (f *files) cleanPath(p string) (string, bool) {
	if p[0] != '/' || strings.ContainsAny(p, "\\\x00") {
		return "", false
	}
	first := true
	for part := range strings.SplitSeq(p[1:], "/") {
		if part == ".." {
			return "", false
		}
		if strings.HasPrefix(part, ".") && part != "." && !f.Dotfiles && !(first && part == ".well-known") {
			return "", false
		}
		first = first && (part == "" || part == ".")
	}
	clean := path.Clean(p)
	if clean != "/" && (strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.")) {
		clean += "/"
	}
	return clean, true
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
func (f *files) directory(c *web.Conn, clean string) web.Body {
	e, err := f.read(clean, clean+f.Index)
	switch {
	case err == nil:
		return f.body(c, e)
	case f.List && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDirectory)):
		return f.list(c, clean)
	}
	return f.failed(c, err)
}

// redirectToSlash answers for a directory that was requested without a final slash. Relative links
// of its page would lead elsewhere, so the client is redirected to the name with a slash.
//
// Location is relative: it works behind any proxy prefix, and cannot name another host. If the
// request's path had the slash, an earlier component has removed it, and no redirect is needed.
func (f *files) redirectToSlash(c *web.Conn, clean string) web.Body {
	target, query, asked := strings.Cut(c.RequestURI(), "?")
	if strings.HasSuffix(target, "/") {
		return f.directory(c, clean)
	}
	where := "./" + target[strings.LastIndexByte(target, '/')+1:] + "/"
	if asked {
		where += "?" + query
	}
	body := c.StatusBody(http.StatusMovedPermanently)
	c.SetHeader("Location", where)
	return body
}
