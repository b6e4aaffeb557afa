package main

import (
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	timeFormat = "Mon, 02 Jan 2006 15:04:05 GMT"
	// how long a file is sent from memory before it is looked at again, as in the other servers
	fresh = time.Second
)

// files keeps the files of a folder in memory.
type files struct {
	dir  string
	kept sync.Map // from the path of a request to its *file
}

// file is a file in memory.
type file struct {
	checked time.Time
	tag     string // the value of ETag
	fields  string // Content-Type, Content-Length, Last-Modified and ETag
	text    []byte
}

// find returns the file at a path; nil if there is none.
func (f *files) find(path string) *file {
	if !clean(path) {
		return nil
	}
	if kept, ok := f.kept.Load(path); ok && time.Since(kept.(*file).checked) < fresh {
		return kept.(*file)
	}
	found := f.read(path)
	if found == nil {
		f.kept.Delete(path)
		return nil
	}
	f.kept.Store(path, found)
	return found
}

func (f *files) read(path string) *file {
	name := filepath.Join(f.dir, path)
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	kind := mime.TypeByExtension(filepath.Ext(path))
	if kind == "" {
		kind = "application/octet-stream"
	}
	r := &file{checked: time.Now(), text: text, tag: fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), len(text))}
	r.fields = fmt.Sprintf("Content-Type: %s\r\nContent-Length: %d\r\nLast-Modified: %s\r\nETag: %s\r\n", kind, len(text), info.ModTime().UTC().Format(timeFormat), r.tag)
	return r
}
