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

// Limits of a control socket.
const (
	maxRequest     = 4 << 10          // bytes of a request
	maxAnswer      = 16 << 20         // bytes of an answer
	maxClients     = 256              // clients at once; others receive an error
	requestTimeout = 10 * time.Second // time for a client to send its request
)

// request is a request of a client.
type request struct {
	Do      string `json:"do"` // status, draw, ping, lookup, dial, listen, impair or change
	Network string `json:"network,omitempty"`
	// dial and listen: HOST:PORT; ping and lookup: a name or an address
	Address string        `json:"address,omitempty"`
	Size    int           `json:"size,omitempty"` // ping: bytes of data
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	Type    string        `json:"type,omitempty"`   // lookup: type of records; draw: format
	Impair  *string       `json:"impair,omitempty"` // nil: report the impairments only
	// impair: the link, empty for all; change: the link, empty if it is the only one
	Link   string      `json:"link,omitempty"`
	Change *LinkChange `json:"change,omitempty"`
	// status: maximum of listed connections
	MaxConnections int `json:"most,omitempty"`
}

// answer is the answer to a request. listen has two: the address, and then the connection.
type answer struct {
	Error    string        `json:"error,omitempty"`
	TimedOut bool          `json:"late,omitempty"` // the error is a timeout
	Local    string        `json:"local,omitempty"`
	Remote   string        `json:"remote,omitempty"`
	Took     time.Duration `json:"took_ns,omitempty"`
	Records  []string      `json:"records,omitempty"`
	Impair   string        `json:"impair,omitempty"`
	Drawing  string        `json:"drawing,omitempty"`
	Status   *Status       `json:"status,omitempty"`
}

// SocketName returns the file name of the control socket of a host on a device in a namespace.
func SocketName(tap, namespace string) string {
	if namespace != "" {
		tap += "@" + namespace
	}
	return tap + ".sock"
}

// parseSocketName returns the device and the namespace of a control socket.
func parseSocketName(file string) (tap, namespace string) {
	tap, namespace, _ = strings.Cut(strings.TrimSuffix(filepath.Base(file), ".sock"), "@")
	return tap, namespace
}

// openControlSocket makes the control socket.
func (h *Host) openControlSocket() error {
	path := h.config.Control
	if path == "" {
		return nil
	}
	if len(path) > 100 {
		return fmt.Errorf("host: the path of the control socket has %d bytes, at most 100 are possible: use a shorter folder than %s", len(path), filepath.Dir(path))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("host: making the control socket's folder: %w", err)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return fmt.Errorf("host: a host runs on %s already (%s): stop it, or use another device", h.config.Links[0].Name, path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("host: removing the control socket of a host that has ended: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("host: making the control socket: %w", err)
	}
	h.control = l
	h.onClose(func() error { l.Close(); return nil }) // already closed after Run
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("host: restricting the control socket to its owner: %w", err)
	}
	return nil
}

// readLine reads a message: a line of JSON.
func readLine(r *bufio.Reader, most int, into any) error {
	line, err := io.ReadAll(io.LimitReader(untilNewline{r}, int64(most)+1))
	switch {
	case err != nil:
		return err
	case len(line) == 0:
		return io.ErrUnexpectedEOF
	case len(line) > most:
		return fmt.Errorf("host: a message exceeds %d bytes", most)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("host: malformed message: %w", err)
	}
	return nil
}

// untilNewline reads up to the end of a line.
type untilNewline struct{ *bufio.Reader }

// Read implements io.Reader, without the newline itself.
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
