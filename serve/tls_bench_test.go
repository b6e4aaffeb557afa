package serve

import (
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkTLSHandshake measures handshakes by TLS 1.3 with X25519, AES-128 and an ECDSA P-256
// certificate on a coroutine. held-p50-us and held-p99-us are how long the server's longest part of
// a handshake, between two reads, holds its event loop.
func BenchmarkTLSHandshake(b *testing.B) {
	for _, resumed := range []bool{false, true} {
		b.Run("resumed="+strconv.FormatBool(resumed), func(b *testing.B) { benchmarkTLSHandshake(b, resumed) })
	}
}

// clockedConn notes the longest time between the end of a Read and the start of the next.
type clockedConn struct {
	net.Conn
	since   time.Time
	longest time.Duration
}

func (c *clockedConn) Read(p []byte) (int, error) {
	c.note()
	n, err := c.Conn.Read(p)
	c.since = time.Now()
	return n, err
}

func (c *clockedConn) note() {
	if !c.since.IsZero() {
		c.longest = max(c.longest, time.Since(c.since))
	}
}

func benchmarkTLSHandshake(b *testing.B, resumed bool) {
	config, err := testTLS()
	if err != nil {
		b.Fatal(err)
	}
	config = config.Clone()
	config.CurvePreferences = []tls.CurveID{tls.X25519}
	held := make(chan time.Duration, 1) // one handshake at a time
	r := startService(b, Coroutine, handlers, service{handle: func(c net.Conn) {
		clocked := &clockedConn{Conn: c}
		s := tls.Server(clocked, config)
		err := s.Handshake()
		clocked.note()
		held <- clocked.longest
		if err == nil {
			echoTo(s, 0)
		}
	}}, Options{})
	client := &tls.Config{InsecureSkipVerify: true, ServerName: "localhost", MinVersion: tls.VersionTLS13}
	if resumed {
		client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	var all []time.Duration
	one := make([]byte, 1)
	for b.Loop() {
		peer, err := net.Dial("tcp", r.addr)
		if err != nil {
			b.Fatal(err)
		}
		c := tls.Client(peer, client)
		if err := c.Handshake(); err != nil {
			b.Fatal(err)
		}
		c.Write(one)
		if _, err := io.ReadFull(c, one); err != nil { // the ticket arrives before it
			b.Fatal(err)
		}
		c.Close()
		all = append(all, <-held)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1e3, "held-p50-us")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e3, "held-p99-us")
}
