package subject

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// canSeeListeners reports that the function listening works on this system.
const canSeeListeners = true

// listening reports whether a process in the network namespace of pid listens at ip and port. It
// does not connect, so that the first connection of a trial is the trial's own.
func listening(pid int, ip net.IP, port int) bool {
	for _, name := range []string{"tcp", "tcp6"} {
		table, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "net", name))
		if err != nil {
			continue
		}
		found := hasListener(table, ip, port)
		table.Close()
		if found {
			return true
		}
	}
	return false
}

// hasListener reports whether a table has the listener. It reads only the rows of listeners, which
// Linux lists before all connections. Thousands of closed connections may still be listed, and the
// table is read repeatedly.
func hasListener(table io.Reader, ip net.IP, port int) bool {
	rows := bufio.NewScanner(table)
	for rows.Scan() {
		s, ok := parseSocket(rows.Bytes())
		switch {
		case !ok: // the header
		case !s.listens:
			return false
		case s.port == port && serves(parseProcIP(s.host), ip):
			return true
		}
	}
	return false
}

// unread returns how many bytes are in the receive queues of all connections to a port of the
// network namespace of pid, including connections that are not yet accepted.
func unread(pid, port int) (sum int64) {
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "net", table))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			if s, ok := parseSocket(line); ok && s.port == port && !s.listens {
				sum += s.unreadBytes
			}
		}
	}
	return sum
}

// socket is one row of /proc/PID/net/tcp.
type socket struct {
	host        []byte // hexadecimal
	port        int
	listens     bool
	unreadBytes int64 // bytes; for a listener, connections
}

// parseSocket parses a row in the format of proc_pid_net(5): "sl local_address rem_address st
// tx_queue:rx_queue …". Numbers are hexadecimal, an address is 32-bit words in the machine's byte
// order, and state 0A is LISTEN.
func parseSocket(row []byte) (s socket, ok bool) {
	f := bytes.Fields(row)
	if len(f) < 5 {
		return s, false
	}
	host, port, _ := bytes.Cut(f[1], []byte(":"))
	n, err := strconv.ParseUint(string(port), 16, 16)
	if err != nil {
		return s, false
	}
	_, rx, _ := bytes.Cut(f[4], []byte(":"))
	waiting, _ := strconv.ParseInt(string(rx), 16, 64)
	return socket{host: host, port: int(n), listens: string(f[3]) == "0A", unreadBytes: waiting}, true
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

// serves reports whether a listener bound to bound accepts connections to ip: bound is the same
// address, or the wildcard address of its family, or :: (which accepts IPv4 too unless configured
// otherwise).
func serves(bound, ip net.IP) bool {
	return bound != nil && (bound.Equal(ip) || bound.Equal(net.IPv6unspecified) || bound.Equal(net.IPv4zero) && ip.To4() != nil)
}

// processGroup lists the living processes of a process group, without zombies.
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

// enlarge makes a pipe hold so many bytes, if the system allows it.
func enlarge(pipe *os.File, bytes int) {
	if c, err := pipe.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, bytes) })
	}
}
