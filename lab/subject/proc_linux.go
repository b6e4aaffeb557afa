package subject

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// canSeeListeners says that listening works here.
const canSeeListeners = true

// listening says whether somebody in the network namespace of pid listens at ip and port, without
// connecting: the first connection of a trial is then the trial's own, and no server sees a stranger.
func listening(pid int, ip net.IP, port int) bool {
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "net", table))
		if err == nil && hasListener(text, ip, port) {
			return true
		}
	}
	return false
}

func hasListener(table []byte, ip net.IP, port int) bool {
	for s := range socketsAt(table, port) {
		if s.listens && serves(parseProcIP(s.host), ip) {
			return true
		}
	}
	return false
}

// unread is how many bytes wait to be read on all connections to a port of the network namespace of pid,
// those included that nobody has accepted.
func unread(pid, port int) (sum int64) {
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "net", table))
		if err != nil {
			continue
		}
		for s := range socketsAt(text, port) {
			if !s.listens {
				sum += s.unread
			}
		}
	}
	return sum
}

// socket is a row of /proc/PID/net/tcp.
type socket struct {
	host    []byte // hexadecimal
	listens bool
	unread  int64 // bytes; of one that listens, connections
}

// socketsAt yields the sockets of a local port out of a table as proc_pid_net(5) shows it: "sl local_address
// rem_address st tx_queue:rx_queue …", where numbers are hexadecimal, an address is 32-bit words in the
// machine's byte order, and state 0A is LISTEN.
func socketsAt(table []byte, port int) iter.Seq[socket] {
	return func(yield func(socket) bool) {
		for line := range bytes.Lines(table) {
			f := bytes.Fields(line)
			if len(f) < 5 {
				continue
			}
			host, p, ok := bytes.Cut(f[1], []byte(":"))
			n, err := strconv.ParseUint(string(p), 16, 16)
			if !ok || err != nil || int(n) != port {
				continue
			}
			_, rx, _ := bytes.Cut(f[4], []byte(":"))
			waiting, _ := strconv.ParseInt(string(rx), 16, 64)
			if !yield(socket{host, string(f[3]) == "0A", waiting}) {
				return
			}
		}
	}
}

func parseProcIP(text []byte) net.IP {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != 4 && len(raw) != 16 {
		return nil
	}
	ip := make(net.IP, len(raw))
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(ip[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	return ip
}

// serves says whether a listener bound to bound takes connections to ip: it is the same, or the wildcard
// address of the same family, or :: (which takes IPv4 too unless told otherwise).
func serves(bound, ip net.IP) bool {
	return bound != nil && (bound.Equal(ip) || bound.Equal(net.IPv6unspecified) || bound.Equal(net.IPv4zero) && ip.To4() != nil)
}

// processGroup lists the living processes of a process group; the dead that nobody has collected yet are none.
func processGroup(id int) []int {
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	var members []int
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // state ppid pgrp …
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(f) > 2 && string(f[2]) == strconv.Itoa(id) && f[0][0] != 'Z' && f[0][0] != 'X' {
			members = append(members, pid)
		}
	}
	return members
}
