package conn

import (
	"fmt"
	"strings"
	"testing"

	"weir/web/internal/client"
)

// crowd is places that a test takes, and which of them were ended.
type crowd struct {
	*Places
	w     *Watch
	ended []string
}

func newCrowd(most, each int) *crowd {
	w := NewWatch(Rules{})
	return &crowd{Places: w.Places(most, each, client.TrustedProxies{}), w: w}
}

// at sets the clock.
func (c *crowd) at(now int64) *crowd {
	c.w.clock.Store(now)
	return c
}

// take takes a place for a connection, which is idle then.
func (c *crowd) take(t *testing.T, address string) *Place {
	t.Helper()
	o, err := c.Take(address)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	o.Opened(func() { c.ended = append(c.ended, address) })
	o.Idle()
	return o
}

// A connection whose request has not been read yet looks idle: a burst of connections from one
// client must not end itself.
func TestANewConnectionIsNotEvictedAtOnce(t *testing.T) {
	c := newCrowd(3, 2)
	c.at(1)
	for i, want := range []error{nil, nil, ErrCrowded} {
		o, err := c.Take("192.0.2.1:1")
		if err != want {
			t.Fatalf("connection %d of a client that may have 2: got %v, want %v", i+1, err, want)
		}
		if o != nil {
			o.Opened(func() { c.ended = append(c.ended, "a new one") })
		}
	}
	c.take(t, "192.0.2.2:1").Asked()
	if _, err := c.Take("192.0.2.3:1"); err != ErrFull {
		t.Errorf("while all places have new or busy connections: got %v, want %v", err, ErrFull)
	}
	c.at(1+int64(freshFor)).take(t, "192.0.2.3:1")
	if len(c.ended) != 1 {
		t.Errorf("when the new ones have asked nothing for %v, %d of them gave way, want 1", freshFor, len(c.ended))
	}
}

func TestTheLongestIdleIsEvictedFirst(t *testing.T) {
	c := newCrowd(3, 0)
	a := c.at(1).take(t, "192.0.2.1:1")
	busy := c.at(2).take(t, "192.0.2.2:1")
	c.at(3).take(t, "192.0.2.3:1")
	c.at(4)
	a.Asked()
	a.Idle()
	busy.Asked()
	for i := range 3 {
		c.at(int64(5+i)).take(t, fmt.Sprintf("192.0.2.%d:1", 4+i))
	}
	if got, want := strings.Join(c.ended, " "), "192.0.2.3:1 192.0.2.1:1 192.0.2.4:1"; got != want {
		t.Errorf("ended in the order %s, want %s", got, want)
	}
	if c.Open() != 3 || c.Idle() != 2 {
		t.Errorf("%d are open and %d idle, want 3 and 2", c.Open(), c.Idle())
	}
}

func TestAClientBeyondItsLimitLosesItsOwnLongestIdle(t *testing.T) {
	c := newCrowd(100, 2)
	c.at(1).take(t, "192.0.2.9:1")
	first := c.at(2).take(t, "192.0.2.1:1")
	second := c.at(3).take(t, "192.0.2.1:2")
	c.at(4).take(t, "192.0.2.1:3")
	second.Asked()
	third := c.at(5).take(t, "192.0.2.1:4")
	third.Asked()
	if got, want := strings.Join(c.ended, " "), "192.0.2.1:1 192.0.2.1:3"; got != want {
		t.Errorf("ended: %s, want %s", got, want)
	}
	if _, err := c.Take("192.0.2.1:5"); err != ErrCrowded {
		t.Errorf("when none of it is idle: got %v, want %v", err, ErrCrowded)
	}
	first.Leave() // again, as a connection does that was ended
	second.Leave()
	second.Leave()
	c.take(t, "192.0.2.1:6")
	third.Leave()
	for range 5 { // nothing is counted twice
		c.take(t, "192.0.2.1:7").Leave()
	}
	if c.Open() != 2 {
		t.Errorf("%d are open, want 2", c.Open())
	}
}

// BenchmarkTakeInACrowd is a client at its limit that opens further connections, beside the idle or
// busy ones of many others.
func BenchmarkTakeInACrowd(b *testing.B) {
	for _, busy := range []bool{false, true} {
		b.Run(fmt.Sprint("busy=", busy), func(b *testing.B) {
			c := newCrowd(50_000, 1000)
			for i := range 50_000 {
				from := fmt.Sprintf("10.%d.%d.1:1", i/1000, i%250)
				if i >= 49_000 {
					from = "192.0.2.1:1"
				}
				o, err := c.Take(from)
				if err != nil {
					b.Fatal(err)
				}
				o.Opened(func() {})
				if o.Idle(); busy {
					o.Asked()
				}
			}
			for b.Loop() {
				if o, err := c.Take("192.0.2.1:1"); err == nil {
					o.Opened(func() {})
					o.Idle()
				}
			}
		})
	}
}
