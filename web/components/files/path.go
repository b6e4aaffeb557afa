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

// clean is the path with each slash once, and whether it may name something: a client that means
// well has resolved ".." itself (RFC 3986 section 5.2.4), and no file's name has a NUL or, for some
// systems, a backslash.
func (f *files) clean(p string) (string, bool) {
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

// local says whether a path with a slash before it stays below the root.
func local(p string) bool { return p != "/" && filepath.IsLocal(filepath.FromSlash(p[1:])) }

// name is the path as os.Root wants it.
func name(clean string) string {
	if n := strings.Trim(clean, "/"); n != "" {
		return filepath.FromSlash(n)
	}
	return "."
}

// directory answers for a directory; clean has a slash at its end.
func (f *files) directory(c *web.Conn, clean string) web.Body {
	e, err := f.load(clean, clean+f.Index)
	switch {
	case err == nil:
		return f.body(c, e)
	case f.List && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDirectory)):
		return f.list(c, clean)
	}
	return f.failed(c, err)
}

// slash answers for a directory that was asked for without the slash at its end: relative
// references in its page would lead elsewhere, so the client is sent to the same name with one. The
// reference to there is relative too, so that it holds whatever stands before this server, and
// can't be taken for one to another host. Where the path that was asked for has a slash, an earlier
// component took it off.
func (f *files) slash(c *web.Conn, clean string) web.Body {
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
