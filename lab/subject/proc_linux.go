package subject

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
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

// hasListener looks through a table as proc_pid_net(5) shows it: "sl local_address rem_address st …", where
// an address is hexadecimal, its 32-bit words in the machine's byte order, and state 0A is LISTEN.
func hasListener(table []byte, ip net.IP, port int) bool {
	for line := range bytes.Lines(table) {
		f := bytes.Fields(line)
		if len(f) < 4 || string(f[3]) != "0A" {
			continue
		}
		host, p, ok := bytes.Cut(f[1], []byte(":"))
		n, err := strconv.ParseUint(string(p), 16, 16)
		if ok && err == nil && int(n) == port && serves(parseProcIP(host), ip) {
			return true
		}
	}
	return false
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
