package main

import (
	"net"
	"syscall"
	"testing"
)

// Connections are accepted by TCP, as in the other subjects, even if the kernel supports MPTCP.
func TestListensWithTCP(t *testing.T) {
	const soProtocol = 38 // SO_PROTOCOL of socket(7)
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		protocol, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, soProtocol)
		if err != nil || protocol != syscall.IPPROTO_TCP {
			t.Errorf("listens with protocol %d, %v, want %d (TCP)", protocol, err, syscall.IPPROTO_TCP)
		}
	})
}
