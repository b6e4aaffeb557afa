package nat

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	burstBytes   = 60000 // of a burst; less than the largest datagram
	burstMost    = 64    // datagrams of a burst: UDP_MAX_SEGMENTS of Linux 4.18
	burstLargest = 4096  // larger datagrams gain less than the copy costs
)

// burst collects datagrams of equal size that a guest sends one after another by a flow, so that
// one system call sends them (UDP_SEGMENT, udp(7)). The last one may be smaller. It is used by the
// goroutine that reads the link, which sends the burst after each batch of frames.
type burst struct {
	flow   *socketFlow
	size   int // of the first datagram
	count  int
	used   int // of buffer
	buffer [burstBytes]byte
}

// add sends a datagram with others of its flow, or at once if it is large.
func (b *burst) add(f *socketFlow, payload []byte) {
	if b.count > 0 && (f != b.flow || len(payload) > b.size || b.used+len(payload) > len(b.buffer)) {
		b.flush()
	}
	if len(payload) > burstLargest || len(payload) == 0 {
		b.flush()
		f.send(payload)
		return
	}
	if b.count == 0 {
		b.flow, b.size = f, len(payload)
	}
	b.used += copy(b.buffer[b.used:], payload)
	b.count++
	if len(payload) < b.size || b.count == burstMost {
		b.flush()
	}
}

// flush sends what there is.
func (b *burst) flush() {
	if b.count == 0 {
		return
	}
	all, f := b.buffer[:b.used], b.flow
	if b.count == 1 || !f.sendSegments(all, b.size) {
		for ; len(all) > 0; all = all[min(b.size, len(all)):] {
			f.send(all[:min(b.size, len(all))])
		}
	}
	b.flow, b.count, b.used = nil, 0, 0
}

// segmentSize is a control message that holds the size of the datagrams.
type segmentSize struct {
	unix.Cmsghdr
	size uint16
	_    [6]byte
}

// sendDatagrams sends datagrams of a size by one system call; the last one may be smaller.
func sendDatagrams(fd int, all []byte, size int) unix.Errno {
	control := segmentSize{Cmsghdr: unix.Cmsghdr{Level: unix.IPPROTO_UDP, Type: unix.UDP_SEGMENT}, size: uint16(size)}
	control.SetLen(unix.CmsgLen(2))
	vector := unix.Iovec{Base: &all[0]}
	vector.SetLen(len(all))
	message := unix.Msghdr{Iov: &vector, Control: (*byte)(unsafe.Pointer(&control))}
	message.SetIovlen(1)
	message.SetControllen(unix.CmsgSpace(2))
	_, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), 0)
	return errno
}
