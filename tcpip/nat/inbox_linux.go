package nat

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// inbox receives several datagrams of a socket by one system call (recvmmsg(2)).
type inbox struct {
	buffers [receivedAtOnce][largestDatagram]byte
	vectors [receivedAtOnce]unix.Iovec
	headers [receivedAtOnce]messageHeader
}

// receivedAtOnce is how many datagrams an inbox has room for.
const receivedAtOnce = 8

// messageHeader is struct mmsghdr.
type messageHeader struct {
	unix.Msghdr
	length uint32
}

func newInbox() *inbox {
	b := new(inbox)
	for i := range b.headers {
		b.vectors[i].Base = &b.buffers[i][0]
		b.vectors[i].SetLen(largestDatagram)
		b.headers[i].Iov = &b.vectors[i]
		b.headers[i].SetIovlen(1)
	}
	return b
}

// receive receives the datagrams that are there, and returns how many. It does not wait.
func (b *inbox) receive(fd int) (n int, errno unix.Errno) {
	r, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.headers)), receivedAtOnce, unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// datagram returns a received datagram. It is valid until the next receive.
func (b *inbox) datagram(i int) []byte { return b.buffers[i][:b.headers[i].length] }
