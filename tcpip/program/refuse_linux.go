//go:build amd64 || arm64

package program

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// refuse answers a call by an error, and explains it in one line.
func (c *call) refuse(errno unix.Errno, what string) answer {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", c.tid))
	c.s.explain(fmt.Sprintf("%s was refused (%s): %s", strings.TrimSpace(string(name)), unix.ErrnoName(errno), what))
	return failed(errno)
}

// domainNames are the families of sockets that programs may ask for.
var domainNames = map[int]string{
	unix.AF_PACKET: "AF_PACKET", unix.AF_VSOCK: "AF_VSOCK", unix.AF_XDP: "AF_XDP", unix.AF_BLUETOOTH: "AF_BLUETOOTH",
	unix.AF_CAN: "AF_CAN", unix.AF_TIPC: "AF_TIPC", unix.AF_SMC: "AF_SMC", unix.AF_RDS: "AF_RDS", unix.AF_KEY: "AF_KEY",
}

// socket implements socket(2).
func (c *call) socket() answer {
	domain, kind, protocol := c.arg(0), c.arg(1), c.arg(2)
	switch domain {
	case unix.AF_INET, unix.AF_INET6:
		return c.internetSocket(domain == unix.AF_INET6, kind, protocol)
	case unix.AF_NETLINK:
		if protocol == unix.NETLINK_ROUTE || protocol == unix.NETLINK_KOBJECT_UEVENT {
			return passOn // they send nothing to the network
		}
		if protocol == unix.NETLINK_AUDIT {
			return failed(unix.EPROTONOSUPPORT) // as on a kernel without: programs do without
		}
		return c.refuse(unix.EPROTONOSUPPORT, fmt.Sprintf("a netlink socket of protocol %d", protocol))
	case unix.AF_ALG:
		return passOn
	}
	name, ok := domainNames[domain]
	if !ok {
		name = fmt.Sprintf("family %d", domain)
	}
	return c.refuse(unix.EAFNOSUPPORT, "a socket of "+name+": there are TCP and UDP")
}

// isUntraceable reports whether this process may not read the memory of the caller.
func (c *call) isUntraceable() bool {
	_, err := unix.Readlink(fmt.Sprintf("/proc/%d/exe", c.tid), make([]byte, 8))
	return err == unix.EACCES
}

// internetSocket makes a TCP or UDP socket of the stack.
func (c *call) internetSocket(inet6 bool, kind, protocol int) answer {
	if c.isUntraceable() {
		return c.refuse(unix.EACCES, "a socket of a program that may not be traced (PR_SET_DUMPABLE, or a setuid program)")
	}
	const kinds = 0xf // beside flags
	switch flags := kind &^ kinds; {
	case flags&^(unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC) != 0:
		return failed(unix.EINVAL)
	case kind&kinds == unix.SOCK_STREAM && (protocol == 0 || protocol == unix.IPPROTO_TCP):
		return c.newStream(inet6, flags)
	case kind&kinds == unix.SOCK_DGRAM && (protocol == 0 || protocol == unix.IPPROTO_UDP):
		return c.newDatagram(inet6, flags)
	case protocol == unix.IPPROTO_MPTCP:
		return failed(unix.EPROTONOSUPPORT) // as on a kernel without: programs use TCP then
	case kind&kinds == unix.SOCK_RAW:
		return c.refuse(unix.EPERM, "a raw socket: there are TCP and UDP")
	case kind&kinds == unix.SOCK_DGRAM && (protocol == unix.IPPROTO_ICMP || protocol == unix.IPPROTO_ICMPV6):
		return c.refuse(unix.EACCES, "a socket for pings: there are TCP and UDP")
	}
	return c.refuse(unix.EPROTONOSUPPORT, fmt.Sprintf("a socket of type %d and protocol %d: there are TCP and UDP", kind&kinds, protocol))
}
