package http

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"weir/lab/contract"
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
func newWWW(dir string) *www {
	w := &www{dir: filepath.Join(dir, "www"), files: map[string][]byte{}}
	contract.Must(errors.Join(os.Mkdir(w.dir, 0o755), os.Chmod(w.dir, 0o755), os.Chmod(dir, 0o755)))
	w.put(pagePath, pageOf("This is the page.", 174))
	w.put(textPath, pageOf("Four kilobytes of text that can be compressed.", 4096))
	return w
}

// pageOf returns an HTML page of the given size that repeats text.
func pageOf(text string, size int) []byte {
	const head, tail = "<!DOCTYPE html><html><body><p>", "</p></body></html>\n"
	text = strings.Repeat(text+" ", size/len(text)+1)
	return []byte(head + text[:size-len(head)-len(tail)] + tail)
}

// put creates or replaces a file.
func (w *www) put(path string, content []byte) {
	w.files[path] = content
	file := filepath.Join(w.dir, path)
	contract.Must(os.WriteFile(file, content, 0o644))
	contract.Must(os.Chmod(file, 0o644)) // regardless of the umask
}

// bigSize is more bytes than the kernel buffers for a client that does not read.
const bigSize = 16 << 20

// putBig creates a file of bigSize.
func (w *www) putBig() {
	content := make([]byte, bigSize)
	for i := 0; i+8 <= len(content); i += 8 {
		binary.BigEndian.PutUint64(content[i:], uint64(i))
	}
	w.put(bigPath, content)
}

// paths returns the files that a server of the workload must serve.
func (b *bench) paths() []string {
	if b.Params.Workload == "page" {
		return []string{pagePath}
	}
	return []string{pagePath, textPath}
}
