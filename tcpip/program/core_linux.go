//go:build amd64 || arm64

package program

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// socket is a socket of the stack that a program has: *stream or *datagram.
type socket interface {
	isInet6() bool
	only6() bool
	isFinished() bool
	seenAt(tid uint32, fd int)
	localAddr() netip.AddrPort
	remoteAddr() (a netip.AddrPort, ok bool)

	connect(c *call, to netip.AddrPort) answer
	disconnect() answer
	bind(a netip.AddrPort) unix.Errno
	listen(backlog int) answer
	accept(c *call, flags int) answer
	shutdown(c *call, how int) answer
	// isStream reports whether the kernel moves the data of all calls
	isStream() bool
	send(m *message) (n int, errno unix.Errno)
	receive(c *call, m *message, cancel <-chan struct{}) (n int, errno unix.Errno)

	takeError() unix.Errno
	options() *options
	special(o option) (v []byte, ok bool) // an option that is not in defaults
	apply(o option)                       // an option has changed
	// abort ends the socket, whatever is still to be sent
	abort()
}

// core is what all sockets have.
type core struct {
	s     *supervisor
	inode uint64 // of the program's end
	inet6 bool
	end   *endpoint
	opts  options
	// both directions have ended: the program may have closed it
	finished atomic.Bool

	mu    sync.Mutex // guards what follows, and the fields of the socket
	local netip.AddrPort
	err   unix.Errno // for SO_ERROR; 0: none
	// a thread and a descriptor by which the program has used it last
	tid uint32
	fd  int
}

func (k *core) isInet6() bool     { return k.inet6 }
func (k *core) isFinished() bool  { return k.finished.Load() }
func (k *core) options() *options { return &k.opts }
func (k *core) only6() bool       { return k.inet6 && k.opts.isSet(unix.IPPROTO_IPV6, unix.IPV6_V6ONLY) }

func (k *core) seenAt(tid uint32, fd int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tid, k.fd = tid, fd
}

func (k *core) localAddr() netip.AddrPort {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.local
}

// takeError returns the error for SO_ERROR, and removes it, here and in the kernel.
func (k *core) takeError() unix.Errno {
	k.mu.Lock()
	defer k.mu.Unlock()
	errno := k.err
	if k.err = 0; errno != 0 {
		k.withProgramEndLocked(func(fd int) { unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR) }) //nolint:errcheck // it is read to remove it
	}
	return errno
}

// withProgramEndLocked calls f with the program's end, if it can be had: it is a copy of a
// descriptor that the program has. The caller holds mu.
func (k *core) withProgramEndLocked(f func(fd int)) {
	if k.withEndAt(k.tid, k.fd, f) {
		return
	}
	for _, at := range findDescriptors(k.inode) {
		if k.withEndAt(at.tid, at.fd, f) {
			k.tid, k.fd = at.tid, at.fd
			return
		}
	}
}

// withEndAt calls f with the program's end, and reports whether it was there.
func (k *core) withEndAt(tid uint32, number int, f func(fd int)) bool {
	fd, err := fetch(tid, number)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Ino != k.inode {
		return false
	}
	f(fd)
	return true
}

// descriptor is a descriptor of a process.
type descriptor struct {
	tid uint32
	fd  int
}

// findDescriptors returns the descriptors of a socket in all processes. It is for those that a
// program has moved elsewhere since it has last used them in a call that was stopped.
func findDescriptors(inode uint64) (all []descriptor) {
	wanted := fmt.Sprintf("socket:[%d]", inode)
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != wanted {
			continue
		}
		parts := strings.Split(link, "/") // "", proc, PID, fd, N
		pid, pidErr := strconv.Atoi(parts[2])
		fd, err := strconv.Atoi(parts[4])
		if pidErr == nil && err == nil && pid != os.Getpid() {
			all = append(all, descriptor{uint32(pid), fd})
		}
	}
	return all
}

// isNonblocking reports whether a call must not wait.
func (c *call) isNonblocking() bool {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fdinfo/%d", c.tid, c.arg(0)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var text [64]byte              // "pos:" and "flags:" are the first lines
	n, _ := unix.Read(fd, text[:]) //nolint:errcheck // then there is no such line
	for line := range strings.Lines(string(text[:max(n, 0)])) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 32)
			return err == nil && n&unix.O_NONBLOCK != 0
		}
	}
	return false
}

// errnoOf returns the number of an error of the stack.
func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return unix.ETIMEDOUT
	}
	return unix.ECONNABORTED
}

// redirected returns where the program's packets to an address go: queries for names go to the name
// server of the configuration, whichever server the program has read of.
func (s *supervisor) redirected(to netip.AddrPort) netip.AddrPort {
	const dnsPort = 53
	if to.Port() != dnsPort || !s.config.NameServer.IsValid() || s.ports.hasServer(dnsPort) {
		return to
	}
	return s.config.NameServer
}
