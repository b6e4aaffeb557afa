package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weir/internal/durable"
)

// Outcome is how an upgrade went. It is kept in the data directory, for who has asked for the
// upgrade.
type Outcome struct {
	At     time.Time
	PID    int    // of the process that serves now
	Kept   int    // connections that were handed over
	Closed int    // connections that were closed, and told to connect again
	Error  string `json:",omitempty"` // why there was none; "" if there was
}

const outcomeFile = ".upgrade" // a name that no backup copies

// Write puts an outcome in the place of the last one.
func (o Outcome) Write(dir string) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, outcomeFile)
	if err := durable.ReplaceFile(name, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	return nil
}

// Last is the last outcome, the zero value if there is none.
func Last(dir string) (o Outcome, err error) {
	data, err := os.ReadFile(filepath.Join(dir, outcomeFile))
	if errors.Is(err, os.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return o, fmt.Errorf("upgrade: how the last one went: %w", err)
	}
	return o, nil
}

// Server is the process that has a data directory, 0 for none.
func Server(dir string) (pid int, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "lock"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%s is no data directory of a chat that runs: it has no lock", dir)
	}
	if err != nil {
		return 0, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("the lock of %s names no process: start the server", dir)
	}
	return pid, nil
}

// Notify tells a service manager something, as sd_notify(3) does. Socket is what it has set in
// NOTIFY_SOCKET; "": there is none.
func Notify(socket, state string) error {
	if socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("upgrade: the service manager: %w", err)
	}
	_, err = c.Write([]byte(state))
	return errors.Join(err, c.Close())
}
