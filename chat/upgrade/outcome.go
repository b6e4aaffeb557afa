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

// Outcome is the result of an upgrade. It is stored in the data directory for the command that
// requested the upgrade.
type Outcome struct {
	At     time.Time
	PID    int    // process that serves now
	Kept   int    // number of connections that were handed over
	Closed int    // number of connections that were closed and must reconnect
	Error  string `json:",omitempty"` // reason of the failure; "" for success
}

const outcomeFile = ".upgrade" // backups do not copy a file with this name

// Write stores the outcome in a data directory. It replaces the previous one.
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

// ReadOutcome returns the last outcome, the zero value if there is none.
func ReadOutcome(dir string) (o Outcome, err error) {
	data, err := os.ReadFile(filepath.Join(dir, outcomeFile))
	if errors.Is(err, os.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return o, fmt.Errorf("upgrade: reading the last outcome: %w", err)
	}
	return o, nil
}

// ServerPID returns the id of the process that serves a data directory.
func ServerPID(dir string) (pid int, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "lock"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%s is not the data directory of a running chat: it has no lock", dir)
	}
	if err != nil {
		return 0, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("the lock of %s contains no process id: start the server", dir)
	}
	return pid, nil
}

// NotifyServiceManager sends a state to the service manager, as sd_notify(3) does. socket is the
// value of NOTIFY_SOCKET; if it is "", nothing is sent.
func NotifyServiceManager(socket, state string) error {
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
