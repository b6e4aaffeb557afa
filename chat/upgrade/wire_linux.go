package upgrade

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limits of one message.
const (
	maxBody    = 64 << 20
	maxFDs     = 100     // the kernel's limit is 253 (SCM_MAX_FD)
	batchBytes = 1 << 20 // approximate bytes of unsent output and state per message
)

// message is one message on the socket: a length of four bytes, which carries the descriptors, and
// JSON. The field names are the wire format between two versions.
type message struct {
	Ready     bool     `json:",omitempty"`
	Version   int      `json:",omitempty"` // version of the state
	Error     string   `json:",omitempty"`
	Lock      bool     `json:",omitempty"` // the first descriptor is the lock
	Listeners []string `json:",omitempty"` // names of the listeners; their descriptors follow
	State     []byte   `json:",omitempty"`
	Count     int      `json:",omitempty"` // number of connections in all messages
	// connections of this message, one for each descriptor
	Some   []connection `json:",omitempty"`
	OK, Go bool         `json:",omitempty"`
}

type connection struct{ Unsent, State []byte }

// socket is one end of the Unix socket.
type socket struct{ *net.UnixConn }

// newSocketPair returns one end of a new socket, and the other end as a file for the process to be
// started.
func newSocketPair() (socket, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return socket{}, nil, fmt.Errorf("upgrade: creating a socket for the new process: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "upgrade")
	ours, err := openSocket(os.NewFile(uintptr(fds[0]), "upgrade"))
	if err != nil {
		theirs.Close()
	}
	return ours, theirs, err
}

// openSocket makes a socket of a file, which it closes.
func openSocket(f *os.File) (socket, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return socket{}, fmt.Errorf("upgrade: opening the socket of the old process: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return socket{}, errors.New("upgrade: descriptor 3 is not a socket of an old process: the environment variable is only for upgrades")
	}
	return socket{u}, nil
}

func (w socket) send(m message, fds ...int) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(body) > maxBody || len(fds) > maxFDs+1 {
		return fmt.Errorf("upgrade: a message of %d bytes and %d descriptors is too large", len(body), len(fds))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	if _, _, err := w.WriteMsgUnix(binary.BigEndian.AppendUint32(nil, uint32(len(body))), rights, nil); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

// receive returns the next message and its descriptors, which the caller owns. The error is io.EOF
// if the other process has exited.
func (w socket) receive() (m message, fds []int, err error) {
	var head [4]byte
	rights := make([]byte, unix.CmsgSpace(4*(maxFDs+1)))
	n, oobn, flags, _, err := w.ReadMsgUnix(head[:], rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return m, nil, err
	}
	if fds, err = descriptors(rights[:oobn]); err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = errors.New("upgrade: not enough free file descriptors: raise the limit on open files")
	}
	if err == nil {
		_, err = io.ReadFull(w, head[n:])
	}
	size := binary.BigEndian.Uint32(head[:])
	if err == nil && size > maxBody {
		err = fmt.Errorf("upgrade: a message of %d bytes is too large", size)
	}
	if err == nil {
		body := make([]byte, size)
		if _, err = io.ReadFull(w, body); err == nil {
			err = json.Unmarshal(body, &m)
		}
	}
	if err != nil {
		closeAll(fds)
		return message{}, nil, err
	}
	return m, fds, nil
}

// descriptors returns the descriptors in a control message.
func descriptors(rights []byte) (fds []int, err error) {
	if len(rights) == 0 {
		return nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		some, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return fds, err
		}
		fds = append(fds, some...)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
