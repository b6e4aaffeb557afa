package freeport

import (
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestAChosenPortCanBeListenedOn(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		port, err := Choose(host)
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(host), Port: port})
		if err != nil {
			t.Fatal(err)
		}
		if err := Try(host, port); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("with a listener at %v: got error %v, want that it is in use", l.Addr(), err)
		}
		l.Close()
		if err := Try(host, port); err != nil {
			t.Errorf("after Close: got error %v, want none", err)
		}
	}
}

func TestWhereNoPortCanBeChosen(t *testing.T) {
	for host, want := range map[string]string{
		"localhost": "127.0.0.1 or ::1",
		"192.0.2.1": "there is no free port at 192.0.2.1", // reserved for documentation
	} {
		if _, err := Choose(host); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Choose(%q): got error %v, want one with %q", host, err, want)
		}
	}
}

// Servers are started beside each other. Between the choice and the moment a server listens, its
// port has no listener, and is not chosen again.
func TestNoPortIsChosenTwice(t *testing.T) {
	var (
		mu   sync.Mutex
		seen = map[string]bool{}
		all  sync.WaitGroup
	)
	for range 8 {
		all.Go(func() {
			for range 50 {
				addr, err := Address("127.0.0.1")
				if err != nil {
					t.Errorf("Address: got %v, want an address", err)
					return
				}
				mu.Lock()
				if seen[addr] {
					t.Errorf("got %s twice, want every address once", addr)
				}
				seen[addr] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}
