package listening

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestAnAddressThatCannotBeListenedOnIsExplained(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		address, reason string
		malformed       bool
	}{
		{taken.Addr().String(), "in use by another program", false},
		{"192.0.2.1:0", "no interface of this machine has this address", false},
		{"8080", "malformed: write HOST:PORT", true},
		{"localhost", "malformed", true},
		{"127.0.0.1:", "", false},
		{"127.0.0.1:99999", "malformed", true},
		{"127.0.0.1:htpt", "malformed", true},
		{"300.1.1.1:80", "malformed", true},
		{"::1:8080", "malformed", true},
		{"http://localhost:80", "malformed", true},
	} {
		l, err := net.Listen("tcp", c.address)
		if err == nil {
			l.Close()
		}
		got := Explain(c.address, err)
		switch {
		case c.reason == "" && got != nil:
			t.Errorf("%q: got error %v, want none", c.address, got)
		case c.reason == "":
		case got == nil || !strings.Contains(got.Error(), c.reason):
			t.Errorf("%q: got error %v, want one with %q", c.address, got, c.reason)
		case errors.Is(got, ErrMalformed) != c.malformed:
			t.Errorf("%q: got malformed %v, want %v", c.address, !c.malformed, c.malformed)
		}
	}
}

func TestAPrivilegedPortNamesTheCapability(t *testing.T) {
	err := Explain("127.0.0.1:80", &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)})
	if !strings.Contains(err.Error(), "CAP_NET_BIND_SERVICE") || !errors.Is(err, syscall.EACCES) {
		t.Errorf("got %q, want the capability and the cause", err)
	}
}
