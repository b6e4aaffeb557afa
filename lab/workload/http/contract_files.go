package http

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// www is the folder that a server serves, with its files.
type www struct {
	dir   string
	files map[string][]byte // by path of a request
}

const (
	pagePath = "/page.html"
	textPath = "/4k.html"
	bigPath  = "/big.bin"
)

// newWWW creates the folder in dir. All users may read it, because some servers drop their
// privileges.
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

// pageOf returns an HTML page of the given size that repeats text.
func pageOf(text string, size int) []byte {
	const head, tail = "<!DOCTYPE html><html><body><p>", "</p></body></html>\n"
	text = strings.Repeat(text+" ", size/len(text)+1)
	return []byte(head + text[:size-len(head)-len(tail)] + tail)
}

// put creates or replaces a file.
func (w *www) put(path string, content []byte) error {
	w.files[path] = content
	file := filepath.Join(w.dir, path)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return err
	}
	return os.Chmod(file, 0o644) // regardless of the umask
}

// bigSize is more bytes than the kernel buffers for a client that does not read.
const bigSize = 16 << 20

// putBig creates a file of bigSize.
func (w *www) putBig() error {
	content := make([]byte, bigSize)
	for i := 0; i+8 <= len(content); i += 8 {
		binary.BigEndian.PutUint64(content[i:], uint64(i))
	}
	return w.put(bigPath, content)
}

// paths returns the files that a server of the workload must serve.
func (b *bench) paths() []string {
	if b.Params.Workload == "page" {
		return []string{pagePath}
	}
	return []string{pagePath, textPath}
}

// get requests a file of the folder and checks its response.
func (b *bench) get(v *httpConn, path string, fields ...string) error {
	return v.get(path, b.www.files[path], fields...)
}

// page reads the response to a request for the page.
func (b *bench) page(v *httpConn) error {
	a, err := v.readResponse("GET")
	if err != nil {
		return err
	}
	return a.checkFile(pagePath, b.www.files[pagePath])
}

// getAll requests each file once.
func (b *bench) getAll(v *httpConn) error {
	for _, path := range b.paths() {
		if err := b.get(v, path); err != nil {
			return err
		}
	}
	return nil
}
