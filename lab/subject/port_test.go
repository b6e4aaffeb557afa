package subject

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestFreePortCanBeListenedOn(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		port := freePort(t, host)
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(host), Port: port})
		if err != nil {
			t.Fatal(err)
		}
		if err := tryPort(net.ParseIP(host), port); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a listener at %v: got %v", l.Addr(), err)
		}
		l.Close()
		if err := tryPort(net.ParseIP(host), port); err != nil {
			t.Errorf("after Close: got %v", err)
		}
	}
	_, err := FreePort("localhost")
	wantError(t, err, "localhost", "127.0.0.1 or ::1")
	_, err = FreePort("192.0.2.1") // reserved for documentation
	wantError(t, err, "there is no free port at 192.0.2.1")
}
