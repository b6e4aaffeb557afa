package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/certificate/certtest"
	"weir/web"
)

// sentSize is more bytes than the kernel buffers for a client that does not read.
const sentSize = 12 << 20

// fileSite is a running server of a file, at /file. All other paths are answered by "here".
type fileSite struct {
	*running
	path   string         // of the file
	data   []byte         // its content at first
	before int            // descriptors that were open before the server
	roots  *x509.CertPool // for TLS
}

// startFileSite serves a file until the end of the test.
func startFileSite(t *testing.T, config Config) *fileSite {
	t.Helper()
	s := &fileSite{path: filepath.Join(t.TempDir(), "file"), data: make([]byte, sentSize), before: descriptors()}
	rand.NewChaCha8([32]byte{}).Read(s.data)
	s.write(t)
	h, err := web.New(web.Source(func(c *web.Conn) web.Body {
		if c.Path() != "/file" {
			return web.Bytes([]byte("here"))
		}
		f, err := os.Open(s.path)
		if err != nil {
			return c.Fail(http.StatusInternalServerError, err)
		}
		return web.File(f, 0, sentSize)
	}), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	s.running = start(t, config, h)
	return s
}

// write makes the file as it was at first.
func (s *fileSite) write(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(s.path, s.data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// receiver is a client that receives the file.
type receiver struct {
	*net.TCPConn
	secure net.Conn // over TCPConn; TCPConn itself: there is no TLS
	in     *bufio.Reader
	resp   *http.Response
	got    []byte // of the file
}

// receive requests the file, and more behind it, and reads the head and the first bytes.
func (s *fileSite) receive(t *testing.T, behind string) *receiver {
	t.Helper()
	c := dial(t, s.addr).(*net.TCPConn)
	c.SetReadBuffer(64 << 10)
	r := &receiver{TCPConn: c, secure: c, got: make([]byte, 1000)}
	if s.config.TLS != nil {
		r.secure = tls.Client(c, &tls.Config{RootCAs: s.roots, ServerName: "weir.test"})
	}
	io.WriteString(r.secure, "GET /file HTTP/1.1\r\nHost: a\r\n\r\n"+behind)
	r.in = bufio.NewReader(r.secure)
	var err error
	if r.resp, err = http.ReadResponse(r.in, nil); err != nil {
		t.Fatal(err)
	}
	if _, err = io.ReadFull(r.resp.Body, r.got); err != nil {
		t.Fatal(err)
	}
	return r
}

// finish reads the rest of the file. It reports whether all of it has arrived.
func (s *fileSite) finish(t *testing.T, r *receiver) (whole bool) {
	t.Helper()
	rest, err := io.ReadAll(r.resp.Body)
	if timedOut(err) {
		t.Fatal(err)
	}
	r.got = append(r.got, rest...)
	if !bytes.HasPrefix(s.data, r.got) {
		t.Errorf("got %d bytes that differ from the file, want the file's", len(r.got))
	}
	return err == nil && len(r.got) == len(s.data)
}

// checkLeft waits until no connection and no descriptor of the server is left.
func (s *fileSite) checkLeft(t *testing.T) {
	t.Helper()
	wait(t, "no connection is left", func() bool { return s.Connections() == 0 })
	s.stop()
	wait(t, fmt.Sprintf("no more than %d descriptors are open", s.before), func() bool { return descriptors() <= s.before })
}

// eachModel runs a test with each model of proxyConfigs.
func eachModel(t *testing.T, test func(*testing.T, Config)) {
	for _, config := range proxyConfigs() {
		t.Run(config.Model.String(), func(t *testing.T) { test(t, config) })
	}
}

// fileChanges are changes of a file while it is sent, and whether the client gets it whole, as it
// was at first.
var fileChanges = []struct {
	name  string
	do    func(path string) error
	whole bool
}{
	{"none", func(string) error { return nil }, true},
	{"it grows", func(path string) error { return os.Truncate(path, 2*sentSize) }, true},
	{"another takes its name", func(path string) error {
		return errors.Join(os.WriteFile(path+".new", []byte("new"), 0o600), os.Rename(path+".new", path))
	}, true},
	{"it is removed", os.Remove, true},
	{"it is truncated", func(path string) error { return os.Truncate(path, sentSize-10) }, false},
	{"it is empty", func(path string) error { return os.Truncate(path, 0) }, false},
}

// TestAFileThatChangesIsWholeOrCutOff, and the next response is behind a whole one only.
func TestAFileThatChangesIsWholeOrCutOff(t *testing.T) {
	eachModel(t, func(t *testing.T, config Config) { checkFileChanges(t, startFileSite(t, config)) })
	t.Run("over TLS", func(t *testing.T) {
		authority := certtest.New(t)
		s := startFileSite(t, Config{TLS: files(t, authority, t.TempDir(), "weir.test")})
		s.roots = authority.Pool
		checkFileChanges(t, s)
	})
}

// checkFileChanges receives the file under each of fileChanges.
func checkFileChanges(t *testing.T, s *fileSite) {
	for _, c := range fileChanges {
		s.write(t)
		r := s.receive(t, get)
		if err := c.do(s.path); err != nil {
			t.Fatal(err)
		}
		if whole := s.finish(t, r); whole != c.whole {
			t.Errorf("%s: got %d bytes of %d, want whole %v", c.name, len(r.got), len(s.data), c.whole)
		}
		if c.whole {
			if _, body := answer(t, r.in); body != "here" {
				t.Errorf("%s: the next response is %q, want %q", c.name, body, "here")
			}
		} else if b, err := r.in.ReadByte(); err == nil {
			t.Errorf("%s: got %q behind a file that is cut off, want the end", c.name, b)
		}
		r.Close()
	}
	s.checkLeft(t)
}

// TestAFileThatIsShorterThanStatedIsNoWholeResponse: it was truncated before its first byte was
// read.
func TestAFileThatIsShorterThanStatedIsNoWholeResponse(t *testing.T) {
	eachModel(t, func(t *testing.T, config Config) {
		s := startFileSite(t, config)
		for _, size := range []int64{0, 100, 5000, 100_000} {
			s.write(t)
			if err := os.Truncate(s.path, size); err != nil {
				t.Fatal(err)
			}
			c := dial(t, s.addr)
			io.WriteString(c, "GET /file HTTP/1.1\r\nHost: a\r\n\r\n"+get)
			in := bufio.NewReader(c)
			got, _ := result(in)
			if got != "end" && got != "200 cut" && (size == 0 || got != "200 "+string(s.data[:size])+" cut") {
				t.Errorf("a file of %d bytes: got %.20q and %d bytes, want no more than the file's, cut off", size, got, len(got))
			}
			if b, err := in.ReadByte(); err == nil {
				t.Errorf("a file of %d bytes: got %q behind it, want the end", size, b)
			}
			c.Close()
			waitUntilServed(t, s.addr)
		}
		s.checkLeft(t)
	})
}

// TestClientsThatStallDuringAFileDelayNoOther, and get all of it when they go on.
func TestClientsThatStallDuringAFileDelayNoOther(t *testing.T) {
	const stalled = 4 // more than there are event loops
	eachModel(t, func(t *testing.T, config Config) {
		s := startFileSite(t, config)
		var clients []*receiver
		for range stalled {
			clients = append(clients, s.receive(t, ""))
			waitUntilServed(t, s.addr)
		}
		for _, r := range clients {
			if !s.finish(t, r) {
				t.Errorf("got %d bytes of %d", len(r.got), len(s.data))
			}
			r.Close()
		}
		s.checkLeft(t)
	})
}

// TestAClientThatHasSentAllGetsItsFile: it closes its side behind the request.
func TestAClientThatHasSentAllGetsItsFile(t *testing.T) {
	eachModel(t, func(t *testing.T, config Config) {
		s := startFileSite(t, config)
		r := s.receive(t, get)
		r.CloseWrite()
		if !s.finish(t, r) {
			t.Errorf("got %d bytes of %d", len(r.got), len(s.data))
		}
		if _, body := answer(t, r.in); body != "here" {
			t.Errorf("the next response is %q, want %q", body, "here")
		}
		if _, err := r.in.ReadByte(); err != io.EOF {
			t.Errorf("behind the last response: got %v, want EOF", err)
		}
		r.Close()
		s.checkLeft(t)
	})
}

// TestAClientThatLeavesDuringAFileLeavesNothing, with requests behind it or without.
func TestAClientThatLeavesDuringAFileLeavesNothing(t *testing.T) {
	eachModel(t, func(t *testing.T, config Config) {
		s := startFileSite(t, config)
		for _, behind := range []string{"", get, "GET /file HTTP/1.1\r\nHost: a\r\n\r\nGET"} {
			for _, linger := range []int{-1, 0} { // 0: it resets the connection
				r := s.receive(t, behind)
				r.SetLinger(linger)
				r.Close()
				wait(t, "the connection has ended", func() bool { return s.Connections() == 0 })
			}
		}
		s.checkLeft(t)
	})
}

// TestShutdownCompletesAFile: the client gets it whole during the drain.
func TestShutdownCompletesAFile(t *testing.T) {
	eachModel(t, func(t *testing.T, config Config) {
		config.DrainTimeout = waitTimeout
		s := startFileSite(t, config)
		r := s.receive(t, get)
		stopped := make(chan error, 1) // the result of Run
		go func() { stopped <- s.stop() }()
		wait(t, "the server accepts no more", func() bool {
			c, err := net.Dial("tcp", s.addr)
			if err == nil {
				c.Close()
			}
			return err != nil
		})
		if !s.finish(t, r) {
			t.Errorf("got %d bytes of %d", len(r.got), len(s.data))
		}
		if next, _ := result(r.in); next != "200 here" && next != "end" {
			t.Errorf("the next response is %q, want its own or the end of the connection", next)
		}
		r.Close()
		if err := <-stopped; err != nil {
			t.Errorf("Run returned %v, want nil: the file has ended in time", err)
		}
		s.checkLeft(t)
	})
}

// TestShutdownCutsAFileOffAfterDrainTimeout: its client does not read.
func TestShutdownCutsAFileOffAfterDrainTimeout(t *testing.T) {
	eachModel(t, func(t *testing.T, config Config) {
		config.DrainTimeout = 100 * time.Millisecond
		s := startFileSite(t, config)
		r := s.receive(t, get)
		if err := s.stop(); !errors.Is(err, ErrDrainTimeout) {
			t.Errorf("Run returned %v, want %v", err, ErrDrainTimeout)
		}
		if s.finish(t, r) {
			t.Error("got all of the file, want it cut off")
		}
		r.Close()
		s.checkLeft(t)
	})
}
