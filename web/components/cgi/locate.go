package cgi

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder is a directory of programs. No spelling and no link leads out of it.
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

// file returns what a name in the folder is. Names with an element that is empty or begins with a
// dot are not found.
func (f *folder) file(name string) (fs.FileInfo, bool) {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.ContainsAny(part, "\x00\\") {
			return nil, false
		}
	}
	info, err := f.root.Stat(name)
	return info, err == nil
}

// program finds the executable file at the front of a path such as /dir/program/info.
func (f *folder) program(urlPath string) (name, info string, ok bool) {
	rest := strings.TrimPrefix(urlPath, "/")
	for {
		part, after, more := strings.Cut(rest, "/")
		name += part // not path.Join: that would resolve /dir/../program to /program
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

// script finds the file at the front of a path such as /dir/page.php/info, up to an extension.
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

// within removes a prefix from a path. With the prefix /cgi-bin, /cgi-bin/a becomes /a, and
// /cgi-binary has no such prefix.
func within(prefix, urlPath string) (string, bool) {
	rest, ok := strings.CutPrefix(urlPath, prefix)
	return rest, ok && (rest == "" || rest[0] == '/')
}
