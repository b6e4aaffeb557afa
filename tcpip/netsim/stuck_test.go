package netsim_test

import (
	"sync"
	"testing"
	"time"

	"weir/tcpip/netsim"
)

// A goroutine that holds a lock while it sleeps stops a world in which another one waits for the
// lock: that is a failure which names both.
func holdsALock(w *netsim.World) {
	var mu sync.Mutex
	go func() {
		mu.Lock()
		defer mu.Unlock()
		time.Sleep(time.Second)
	}()
	time.Sleep(time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	w.Log("never reached")
}

// Packets that the hosts write at the last instant are compared too.
func TestTheLastPacketsAreCompared(t *testing.T) {
	n := byte(0)
	text := netsim.Difference(t, 1, func(w *netsim.World) {
		a, b := pair(w, netsim.Path{})
		c, err := a.Dial("udp", b.Addr().String()+":7")
		if err != nil {
			w.Fatal(err)
		}
		n++
		c.Write([]byte{n}) //nolint:errcheck // only the packet matters
	})
	if text == "" {
		t.Error("got no difference, want the packet that differs")
	}
}

// A crash during a Sync loses what it was to keep.
func TestACrashFallsIntoASync(t *testing.T) {
	once(t, func(w *netsim.World) {
		h := w.HostWith("h", netsim.HostConfig{SyncDelay: 10 * time.Millisecond})
		w.At(5*time.Millisecond, h.Restart)
		err := h.Disk().WriteFile("f", []byte("x"))
		if err != nil {
			w.Fatal(err)
		}
		if err := h.Disk().Sync("f"); err == nil {
			w.Error("Sync returned no error after a crash, want ErrCrashed")
		}
		if got, err := h.Disk().ReadFile("f"); len(got) > 0 || err != nil {
			w.Errorf("got %q and error %v, want nothing", got, err)
		}
	})
}

func TestOthers(t *testing.T) {
	once(t, func(w *netsim.World) {
		a, _ := pair(w, netsim.Path{})
		w.Host("c")
		got := ""
		for _, h := range w.Others(a) {
			got += h.Name()
		}
		if got != "bc" {
			w.Errorf("got the hosts %q, want b and c", got)
		}
	})
}
