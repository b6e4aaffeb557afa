package cgi

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder is where programs are. Nothing outside of it is found, by whatever spelling or link.
type folder struct {
	root *os.Root
	path string // absolute
}

func openFolder(name string) (*folder, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &folder{root, abs}, nil
}

// file says what a name in the folder is; a name with a part that is empty, or begins with a dot,
// is nothing.
func (f *folder) file(name string) (fs.FileInfo, bool) {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.ContainsAny(part, "\x00\\") {
			return nil, false
		}
	}
	info, err := f.root.Stat(name)
	return info, err == nil
}

// program finds the file that is the front of a path, as /dir/program/info: an executable one.
func (f *folder) program(urlPath string) (name, info string, ok bool) {
	rest := strings.TrimPrefix(urlPath, "/")
	for {
		part, after, more := strings.Cut(rest, "/")
		name += part // not joined as paths are: that would take /dir/../program for /program
		found, ok := f.file(name)
		switch {
		case !ok:
			return "", "", false
		case found.Mode().IsRegular() && found.Mode()&0o111 != 0:
			if more {
				info = "/" + after
			}
			return name, info, true
		case !found.IsDir() || !more:
			return "", "", false
		}
		name, rest = name+"/", after
	}
}

// script finds the file that is the front of a path up to an ending, as /dir/page.php/info.
func (f *folder) script(urlPath, ending string) (name, info string, ok bool) {
	name = strings.TrimPrefix(urlPath, "/")
	if i := strings.Index(name, ending+"/"); i >= 0 {
		name, info = name[:i+len(ending)], name[i+len(ending):]
	}
	if !strings.HasSuffix(name, ending) {
		return "", "", false
	}
	found, ok := f.file(name)
	return name, info, ok && found.Mode().IsRegular()
}

// within takes a prefix off a path: /cgi-bin of /cgi-bin/a is /a, and of /cgi-binary nothing.
func within(prefix, urlPath string) (string, bool) {
	rest, ok := strings.CutPrefix(urlPath, prefix)
	return rest, ok && (rest == "" || rest[0] == '/')
}
