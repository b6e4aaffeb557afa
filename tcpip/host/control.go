package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What may come over a control socket.
const (
	requestMost = 4 << 10          // bytes of a request
	answerMost  = 16 << 20         // bytes of an answer
	clientsMost = 256              // at once; further ones are told so
	requestWait = 10 * time.Second // for the request, of who has connected
)

// request is what a client asks for.
type request struct {
	Do      string        `json:"do"` // status, draw, ping, lookup, dial, listen or impair
	Network string        `json:"network,omitempty"`
	Address string        `json:"address,omitempty"` // of dial and listen HOST:PORT, of ping a host
	Size    int           `json:"size,omitempty"`    // of ping: bytes of data
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	Type    string        `json:"type,omitempty"`   // of lookup and draw
	Impair  *string       `json:"impair,omitempty"` // nil: only say how it is
	Most    int           `json:"most,omitempty"`   // of status: how many connections it lists
}

// answer is what it is told. Of listen there are two: where, and then who has come.
type answer struct {
	Error   string        `json:"error,omitempty"`
	Late    bool          `json:"late,omitempty"` // the error is that it took too long
	Local   string        `json:"local,omitempty"`
	Remote  string        `json:"remote,omitempty"`
	Took    time.Duration `json:"took_ns,omitempty"`
	Records []string      `json:"records,omitempty"`
	Impair  string        `json:"impair,omitempty"`
	Drawing string        `json:"drawing,omitempty"`
	Status  *Status       `json:"status,omitempty"`
}

// SocketName is the file name of the control socket of the host on a device in a namespace.
func SocketName(tap, namespace string) string {
	if namespace != "" {
		tap += "@" + namespace
	}
	return tap + ".sock"
}

// named is the device and the namespace that a socket's name tells.
func named(file string) (tap, namespace string) {
	tap, namespace, _ = strings.Cut(strings.TrimSuffix(filepath.Base(file), ".sock"), "@")
	return tap, namespace
}

// open makes the control socket.
func (h *Host) open() error {
	path := h.config.Control
	if path == "" {
		return nil
	}
	if len(path) > 100 {
		return fmt.Errorf("host: the control socket's path has %d bytes, and a socket's at most 100: choose a shorter folder than %s", len(path), filepath.Dir(path))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("host: making the control socket's folder: %w", err)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return fmt.Errorf("host: a host runs on %s already (%s): end that, or name another device", h.config.Tap, path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("host: removing the control socket of a host that is no more: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("host: making the control socket: %w", err)
	}
	h.control = l
	h.later(func() error { l.Close(); return nil }) // it may be: Run does so too
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("host: keeping the control socket to its owner: %w", err)
	}
	return nil
}

// readLine reads a message.
func readLine(r *bufio.Reader, most int, into any) error {
	line, err := io.ReadAll(io.LimitReader(untilNewline{r}, int64(most)+1))
	switch {
	case err != nil:
		return err
	case len(line) == 0:
		return io.ErrUnexpectedEOF
	case len(line) > most:
		return fmt.Errorf("host: a message of more than %d bytes", most)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("host: a message that is none: %w", err)
	}
	return nil
}

// untilNewline ends behind a line's end.
type untilNewline struct{ *bufio.Reader }

// Read implements io.Reader. The line's end itself is not given.
func (r untilNewline) Read(p []byte) (n int, err error) {
	for n < len(p) {
		b, err := r.ReadByte()
		if err != nil {
			return n, io.ErrUnexpectedEOF
		}
		if b == '\n' {
			return n, io.EOF
		}
		p[n] = b
		n++
	}
	return n, nil
}

func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
