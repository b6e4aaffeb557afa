package server

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/certificate/certtest"
	"weir/web"
)

// noDescriptor is a listener whose connections have no file descriptor, such as those of a stack in
// user space.
type noDescriptor struct{ net.Listener }

func (l noDescriptor) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{c}, nil
}

// A file that is larger than a buffer arrives whole, whether the kernel can send it or not.
func TestALargeFileArrivesWhole(t *testing.T) {
	data := make([]byte, 3<<20)
	rand.Read(data)
	path := filepath.Join(t.TempDir(), "large")
	write(t, path, data)
	h, err := web.New(web.Source(func(c *web.Conn) web.Body {
		f, err := os.Open(path)
		if err != nil {
			return c.Fail(http.StatusInternalServerError, err)
		}
		return web.File(f, 0, int64(len(data)))
	}), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	authority := certtest.New(t)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{
		"plain":                {},
		"over TLS":             {TLS: files(t, authority, t.TempDir(), "weir.test")},
		"without a descriptor": {Listener: noDescriptor{plain}},
	} {
		s := start(t, c, h)
		url, protocols := "http://weir.test/", []string{"http/1.1"}
		if c.TLS != nil {
			url = "https://weir.test/"
		}
		resp, err := browser(t, authority, s.addr, protocols...).Get(url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: got %d bytes, %v, want %d, the same", name, len(got), err, len(data))
		}
	}
}
