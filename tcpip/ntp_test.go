package tcpip

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/beevik/ntp"

	"weir/tcpip/link"
)

// ntpTime is a time in NTP's format (RFC 5905, section 6): seconds since 1900, and a fraction.
func ntpTime(t time.Time) uint64 {
	const since1900 = 2_208_988_800
	return uint64(t.Unix()+since1900)<<32 | uint64(t.Nanosecond())<<32/1e9
}

// tellTime answers NTP requests by a clock that is ahead by a given time, until the socket is
// closed.
func tellTime(u net.PacketConn, ahead time.Duration) {
	p := make([]byte, 1000)
	for {
		n, from, err := u.ReadFrom(p)
		if err != nil {
			return
		}
		if n < 48 {
			continue
		}
		now := ntpTime(time.Now().Add(ahead))
		a := []byte{p[0]&0x38 | 4, 1, p[2], 0xec} // a server of the first stratum
		a = append(a, 0, 0, 0, 0, 0, 0, 0, 0, 'G', 'P', 'S', 0)
		a = binary.BigEndian.AppendUint64(a, now-1<<32)
		a = append(a, p[40:48]...) // when the question was sent
		a = binary.BigEndian.AppendUint64(a, now)
		a = binary.BigEndian.AppendUint64(a, ntpTime(time.Now().Add(ahead)))
		u.WriteTo(a, from) //nolint:errcheck // the client tells
	}
}

func TestNTPRunsOnTheStack(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	u, err := b.ListenPacket("udp", ":123")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}) // closed when the server has ended
	go func() { defer close(done); tellTime(u, time.Hour) }()
	defer func() { u.Close(); <-done }()
	r, err := ntp.QueryWithOptions("10.0.0.2", ntp.QueryOptions{Timeout: 30 * time.Second, Dialer: func(_, remote string) (net.Conn, error) { return a.Dial("udp", remote) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	// the best accuracy of one request and its response
	if off := (r.ClockOffset - time.Hour).Abs(); off > r.RTT+time.Millisecond {
		t.Errorf("got a clock offset of %v with a round trip of %v, want an hour, give or take the round trip", r.ClockOffset, r.RTT)
	}
}
