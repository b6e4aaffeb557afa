//go:build !unix

package serve

import (
	"context"
	"errors"
	"net"
	"os"
)

// onUnix says that connections of the kernel have file descriptors that system calls take.
const onUnix = false

func readFD(uintptr, []byte) (int, error) { return 0, errUnix }

func writeFD(uintptr, []byte) (int, error) { return 0, errUnix }

var errUnix = errors.New("serve: this concurrency model needs a Unix system")

// Close does nothing: no connection is moved here.
func (m MovedConn) Close() error { return nil }

// socketError returns nil: the next call on the socket returns its error.
func socketError(uintptr) error { return nil }

func runProcesses(_ context.Context, l net.Listener, _ serviceForm, _ Options) error {
	return errors.Join(errUnix, l.Close())
}

// InheritedFile returns nil: there are no child processes here.
func InheritedFile(int, string) *os.File { return nil }
