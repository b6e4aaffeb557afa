//go:build unix

package nat

import (
	"errors"
	"net"
	"runtime"
	"syscall"
)

// readsAtOnce is how many datagrams are read before other calls of the socket have a turn.
const readsAtOnce = 64

// refuseBroadcast is an error if a UDP socket of package net is connected to a broadcast address of
// this machine's networks. Package net allows its sockets to send there.
func refuseBroadcast(c net.Conn) error {
	u, ok := c.(*net.UDPConn)
	if !ok {
		return nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_BROADCAST, 0)
		if err == nil && runtime.GOOS == "linux" { // others decide for each datagram
			err = connectAgain(int(fd))
		}
	})
	return errors.Join(controlErr, err)
}

// connectAgain has the system decide anew whether a UDP socket may be connected to its peer.
func connectAgain(fd int) error {
	peer, err := syscall.Getpeername(fd)
	if err != nil {
		return err
	}
	return syscall.Connect(fd, peer)
}

// rawReader is newDatagramReader for a socket of the kernel: it has no buffer while it waits, and
// reads the datagrams that follow at once without a wait. It is nil for other connections.
func rawReader(c net.Conn) func(use func([]byte)) error {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return func(use func([]byte)) (readErr error) {
		err := raw.Read(func(fd uintptr) (done bool) {
			done, readErr = readDatagrams(int(fd), use)
			return done
		})
		if err != nil {
			return err
		}
		return readErr
	}
}

// readDatagrams gives the datagrams of a socket to use. done is false if there was none.
func readDatagrams(fd int, use func([]byte)) (done bool, err error) {
	b := datagramBuffers.Get().(*[]byte)
	defer datagramBuffers.Put(b)
	for n := 0; n < readsAtOnce; {
		switch size, err := syscall.Read(fd, *b); err {
		case nil:
			use((*b)[:size])
			n++
		case syscall.EINTR:
		case syscall.EAGAIN:
			return n > 0, nil
		default:
			return true, err
		}
	}
	return true, nil
}

// rawWriter returns a function that sends a datagram by a socket of the kernel, and loses it if the
// socket is full. It is nil for other connections.
func rawWriter(c net.Conn) func([]byte) error {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return func(payload []byte) (writeErr error) {
		err := raw.Write(func(fd uintptr) (done bool) {
			for writeErr = syscall.EINTR; writeErr == syscall.EINTR; {
				_, writeErr = syscall.Write(int(fd), payload)
			}
			return true
		})
		if err != nil {
			return err
		}
		return writeErr
	}
}
