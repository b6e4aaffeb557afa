package files

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestALargeFileThatChangesWhileItIsSent has a client that stops reading after the head, until something has been done to the file. The file
// is larger than what the kernel buffers on the way.
func TestALargeFileThatChangesWhileItIsSent(t *testing.T) {
	const size = 48 << 20
	dir := t.TempDir()
	name := filepath.Join(dir, "f.bin")
	old := bytes.Repeat([]byte("o"), size)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, Config{Dir: dir})
	for _, c := range []struct {
		what  string
		do    func()
		whole bool
	}{
		{"nothing", func() {}, true},
		{"another file takes its name", func() {
			must(os.WriteFile(name+".new", []byte("new"), 0o600))
			must(os.Rename(name+".new", name))
		}, true},
		{"its name goes", func() { must(os.Remove(name)) }, true},
		{"it is overwritten", func() {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			must(err)
			defer f.Close()
			_, err = f.WriteAt([]byte("new"), size-10)
			must(err)
		}, false},
		{"it is truncated", func() { must(os.Truncate(name, size/2)) }, false},
		{"it grows", func() { must(os.Truncate(name, size+1)) }, false},
	} {
		must(os.WriteFile(name, old, 0o600))
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		must(err)
		io.WriteString(conn, "GET /f.bin HTTP/1.1\r\nHost: test\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(err)
		c.do()
		body, err := io.ReadAll(resp.Body)
		if c.whole != (err == nil && len(body) == size) || len(bytes.Trim(body, "o")) != 0 {
			t.Errorf("%s: %d bytes of %d, %v", c.what, len(body), resp.ContentLength, err)
		}
		conn.Close()
	}
}
