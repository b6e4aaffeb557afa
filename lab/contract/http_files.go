package contract

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// www is the folder that a server is to serve, with what is in it.
type www struct {
	dir   string
	files map[string][]byte // by path in a request
}

const (
	pagePath = "/page.html"
	textPath = "/4k.html"
	bigPath  = "/big.bin"
)

// newWWW makes the folder in dir. Everybody may read it: servers that leave their privileges must.
func newWWW(dir string) (*www, error) {
	w := &www{dir: filepath.Join(dir, "www"), files: map[string][]byte{}}
	if err := errors.Join(os.Mkdir(w.dir, 0o755), os.Chmod(w.dir, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return nil, err
	}
	if err := w.put(pagePath, pageOf("This is the page.", 174)); err != nil {
		return nil, err
	}
	return w, w.put(textPath, pageOf("Four kilobytes of text that can be compressed.", 4096))
}

// pageOf is an HTML page of a given size that says something, again and again.
func pageOf(text string, size int) []byte {
	const head, tail = "<!DOCTYPE html><html><body><p>", "</p></body></html>\n"
	text = strings.Repeat(text+" ", size/len(text)+1)
	return []byte(head + text[:size-len(head)-len(tail)] + tail)
}

// put writes a file, which may be there already.
func (w *www) put(path string, content []byte) error {
	w.files[path] = content
	file := filepath.Join(w.dir, path)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return err
	}
	return os.Chmod(file, 0o644) // whatever this process gives to files that it makes
}

// bigSize is more than the kernel takes from a server for a client that does not read, in bytes.
const bigSize = 16 << 20

// putBig writes a file of bigSize.
func (w *www) putBig() error {
	content := make([]byte, bigSize)
	for i := 0; i+8 <= len(content); i += 8 {
		binary.BigEndian.PutUint64(content[i:], uint64(i))
	}
	return w.put(bigPath, content)
}

// paths are what a server of the workload has to serve.
func (b *bench) paths() []string {
	if b.params.Workload == "page" {
		return []string{pagePath}
	}
	return []string{pagePath, textPath}
}

// get asks for a file of the folder.
func (b *bench) get(v *visitor, path string, fields ...string) error {
	return v.get(path, b.www.files[path], fields...)
}

// page reads the page, which was asked for.
func (b *bench) page(v *visitor) error {
	a, err := v.hear("GET")
	if err != nil {
		return err
	}
	return a.isFile(pagePath, b.www.files[pagePath])
}

// getAll asks for each file once.
func (b *bench) getAll(v *visitor) error {
	for _, path := range b.paths() {
		if err := b.get(v, path); err != nil {
			return err
		}
	}
	return nil
}
