package files

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// TestLargeFileThatChangesWhileSentIsAborted has a client that stops reading after the header until
// the file has changed. The file is larger than the kernel's buffers.
func TestLargeFileThatChangesWhileSentIsAborted(t *testing.T) {
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
		conn, err := net.Dial("tcp", strings.TrimPrefix(s, "http://"))
		must(err)
		io.WriteString(conn, "GET /f.bin HTTP/1.1\r\nHost: test\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(err)
		c.do()
		body, err := io.ReadAll(resp.Body)
		if c.whole != (err == nil && len(body) == size) || len(bytes.Trim(body, "o")) != 0 {
			t.Errorf("%s: got %d bytes of %d, %v, want the whole old content, or an error", c.what, len(body), resp.ContentLength, err)
		}
		conn.Close()
	}
}

// TestLargeFileEntryIsCached waits until its stamp is reliable, so that it is cached, and then
// changes the file and its sibling.
func TestLargeFileEntryIsCached(t *testing.T) {
	text := strings.Repeat("old ", 1000)
	dir := tree(t, map[string]string{"f.txt": text})
	c, err := New(Config{Dir: dir, CacheFile: "1KB"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.(io.Closer).Close()
	f := c.(*files)
	webtest.Until(t, "the stamp is reliable", func() bool {
		e, err := f.load(new(web.Conn), "/f.txt")
		if err != nil {
			t.Fatal(err)
		}
		if e.plain.openFile != nil {
			e.plain.openFile.Close()
		}
		_, kept := f.store.Get("/f.txt")
		return kept
	})
	s := webtest.Serve(t, flow.Chain, c)
	first, body := get(t, s, "/f.txt", "Accept-Encoding", "gzip")
	again, _ := get(t, s, "/f.txt")
	if tag := first.Header.Get("Etag"); body != text || tag == "" || tag != again.Header.Get("Etag") {
		t.Errorf("got %d bytes, tags %s and %s, want the file with the same tag twice", len(body), tag, again.Header.Get("Etag"))
	}
	if resp, _ := get(t, s, "/f.txt", "If-None-Match", first.Header.Get("Etag")); resp.StatusCode != 304 {
		t.Errorf("the same tag: got %d, want 304", resp.StatusCode)
	}
	write(t, dir, "f.txt.gz", "small")
	age(t, dir+"/f.txt", time.Minute) // older than its sibling, in any order of the clock's ticks
	webtest.Until(t, "a sibling is seen", func() bool {
		resp, body := get(t, s, "/f.txt", "Accept-Encoding", "gzip")
		return body == "small" && resp.Header.Get("Content-Encoding") == "gzip"
	})
	write(t, dir, "f.txt", strings.ToUpper(text))
	if resp, body := get(t, s, "/f.txt"); body != strings.ToUpper(text) || resp.Header.Get("Etag") == first.Header.Get("Etag") {
		t.Errorf("a changed large file: got %s with tag %s, want the new content at once", body[:4], resp.Header.Get("Etag"))
	}
}
