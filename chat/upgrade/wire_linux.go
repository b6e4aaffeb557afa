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
	maxFDs     = 100     // the kernel takes 253
	batchBytes = 1 << 20 // of unsent bytes and states, more or less
)

// message is what goes through the socket: a length of four bytes, with the descriptors, and JSON.
type message struct {
	Ready     bool         `json:",omitempty"`
	Version   int          `json:",omitempty"` // of the state
	Error     string       `json:",omitempty"`
	Lock      bool         `json:",omitempty"` // the first descriptor is the lock
	Listeners []string     `json:",omitempty"` // names of those that follow
	State     []byte       `json:",omitempty"`
	Count     int          `json:",omitempty"` // of connections in all
	Some      []connection `json:",omitempty"` // one for each descriptor
	OK, Go    bool         `json:",omitempty"`
}

type connection struct{ Unsent, State []byte }

// wire is one end of the socket.
type wire struct{ *net.UnixConn }

// pair makes a socket: one end, and a file of the other for the process that is to be started.
func pair() (wire, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return wire{}, nil, fmt.Errorf("upgrade: a socket for the new process: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "upgrade")
	ours, err := wireOf(os.NewFile(uintptr(fds[0]), "upgrade"))
	if err != nil {
		theirs.Close()
	}
	return ours, theirs, err
}

// wireOf is the end in a file, which it closes.
func wireOf(f *os.File) (wire, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return wire{}, fmt.Errorf("upgrade: the socket of the old process: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return wire{}, errors.New("upgrade: what was inherited is no socket of an old process: do not set the variable yourself")
	}
	return wire{u}, nil
}

func (w wire) send(m message, fds ...int) error {
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

// receive returns the next message and its descriptors, which are the caller's. io.EOF: the other
// has ended.
func (w wire) receive() (m message, fds []int, err error) {
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
		err = errors.New("upgrade: there are not enough descriptors free: raise the limit on open files")
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

// descriptors are those in a control message. They are not inherited by programs that are started.
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
