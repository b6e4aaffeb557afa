package main

import (
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// result is what a trial has measured.
type result struct {
	RoundTrip    float64 // us of a byte there and back
	RoundTripCPU float64 // us of CPU of the whole process for it
	Bulk         float64 // Gbit/s from one host to the other
	BulkCPU      float64 // CPU s of the whole process for a GB
	Peak         float64 // MB of memory, at most
}

const (
	warmUp     = 500
	roundTrips = 20_000
	bulkBytes  = 1 << 30
	writeBytes = 64 << 10
)

// trial measures a stack by a version of IP, "4" or "6".
func trial(kind, version string) (r result, err error) {
	a, b, err := newHosts(kind)
	if err != nil {
		return r, err
	}
	at := netip.AddrPortFrom(addrsOf(2)[0], 80)
	if version == "6" {
		at = netip.AddrPortFrom(addrsOf(2)[1], 80)
	}
	l, err := b.listen(at)
	if err != nil {
		return r, err
	}
	go echoThenSink(l) // until the process ends
	c, err := a.dial(at)
	if err != nil {
		return r, err
	}
	if _, _, err = measureTrips(c, warmUp); err == nil {
		r.RoundTrip, r.RoundTripCPU, err = measureTrips(c, roundTrips)
	}
	if err != nil {
		return r, err
	}
	c.Close()
	if c, err = a.dial(at); err != nil {
		return r, err
	}
	r.Bulk, r.BulkCPU, err = measureBulk(c)
	r.Peak = float64(usage().Maxrss) / 1000
	return r, err
}

// echoThenSink echoes what its first client sends, and discards what the second one sends.
func echoThenSink(l net.Listener) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, 1)) //nolint:errcheck // the client sees it
	if c, err = l.Accept(); err == nil {
		io.CopyBuffer(io.Discard, struct{ io.Reader }{c}, make([]byte, writeBytes)) //nolint:errcheck // as above
	}
}

func measureTrips(c net.Conn, n int) (wall, cpu float64, err error) {
	began, used := time.Now(), cpuTime()
	var b [1]byte
	for range n {
		if _, err = c.Write(b[:]); err == nil {
			_, err = io.ReadFull(c, b[:])
		}
		if err != nil {
			return 0, 0, err
		}
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n) }
	return each(time.Since(began)), each(cpuTime() - used), nil
}

func measureBulk(c net.Conn) (gbits, cpu float64, err error) {
	began, used := time.Now(), cpuTime()
	b := make([]byte, writeBytes)
	for sent := 0; sent < bulkBytes; sent += len(b) {
		if _, err = c.Write(b); err != nil {
			return 0, 0, err
		}
	}
	return bulkBytes * 8 / 1e9 / time.Since(began).Seconds(), (cpuTime() - used).Seconds() / (bulkBytes / 1e9), nil
}

func usage() (r syscall.Rusage) {
	syscall.Getrusage(syscall.RUSAGE_SELF, &r) //nolint:errcheck // it fails for invalid arguments only
	return r
}

// cpuTime returns the CPU time of the process so far.
func cpuTime() time.Duration {
	r := usage()
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
