//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// result has a figure for each of rows.
type result []float64

var rows = []string{
	"connect, accept and close, us",
	"round trip of 1 byte, us",
	"bulk, Gbit/s",
	"datagram there and back (sendto, recvfrom), us",
	"memory of weir and its guard at first, MB",
	"after the bulk, MB",
	"of each of 1,000 connections, both ends, KB",
}

const (
	connects     = 500
	roundTrips   = 5000
	datagrams    = 2000
	bulkBytes    = 1 << 30
	bulkTime     = 3 * time.Second
	manyConnects = 1000
)

// measureHere measures with a client and a server in this process.
func measureHere() error {
	l, at, err := listen()
	if err != nil {
		return err
	}
	atStart := supervisorMemory()
	var r result
	for _, m := range []func(int, unix.Sockaddr) (float64, error){measureConnect, measureRoundTrip, measureBulk, measureDatagrams} {
		figure, err := m(l, at)
		if err != nil {
			return err
		}
		r = append(r, figure)
	}
	before := supervisorMemory()
	for range manyConnects {
		if _, _, err := pair(l, at); err != nil { // they stay open until the end
			return err
		}
	}
	now := supervisorMemory()
	r = append(r, atStart/1e6, before/1e6, (now-before)/1e3/manyConnects)
	return json.NewEncoder(os.Stdout).Encode(r)
}

func listen() (int, unix.Sockaddr, error) {
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(l, 1024)
	}
	if err != nil {
		return -1, nil, err
	}
	at, err := unix.Getsockname(l)
	return l, at, err
}

// pair opens a connection, and returns both ends.
func pair(l int, at unix.Sockaddr) (client, server int, err error) {
	client, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = retry(func() error { return unix.Connect(client, at) })
	}
	if err == nil {
		err = retry(func() error { server, _, err = unix.Accept4(l, unix.SOCK_CLOEXEC); return err })
	}
	if err == nil {
		err = unix.SetsockoptInt(client, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = unix.SetsockoptInt(server, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	return client, server, err
}

// retry repeats a call that a signal has interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func measureConnect(l int, at unix.Sockaddr) (float64, error) {
	start := time.Now()
	for range connects {
		client, server, err := pair(l, at)
		if err != nil {
			return 0, err
		}
		unix.Close(client)
		unix.Close(server)
	}
	return perCall(start, connects), nil
}

func perCall(start time.Time, n int) float64 {
	return float64(time.Since(start).Microseconds()) / float64(n)
}

// echo sends back what arrives until the end of the stream.
func echo(fd int) {
	b := make([]byte, 4096)
	for {
		n, err := unix.Read(fd, b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			unix.Close(fd)
			return
		}
		unix.Write(fd, b[:n]) //nolint:errcheck // the client sees it
	}
}

func measureRoundTrip(l int, at unix.Sockaddr) (float64, error) {
	client, server, err := pair(l, at)
	if err != nil {
		return 0, err
	}
	defer unix.Close(client)
	go echo(server) // until the client closes it
	b := []byte{1}
	start := time.Now()
	for range roundTrips {
		if err := retry(func() error { _, err := unix.Write(client, b); return err }); err != nil {
			return 0, err
		}
		if err := retry(func() error { _, err := unix.Read(client, b); return err }); err != nil {
			return 0, err
		}
	}
	return perCall(start, roundTrips), nil
}

func measureBulk(l int, at unix.Sockaddr) (float64, error) {
	client, server, err := pair(l, at)
	if err != nil {
		return 0, err
	}
	go func() { // until all is sent
		b := make([]byte, 1<<20)
		start := time.Now()
		for sent := 0; sent < bulkBytes && time.Since(start) < bulkTime; {
			n, err := unix.Write(server, b)
			if err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
			sent += max(n, 0)
		}
		unix.Close(server)
	}()
	defer unix.Close(client)
	b, sum, start := make([]byte, 1<<20), 0, time.Now()
	for {
		n, err := unix.Read(client, b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return float64(sum) * 8 / float64(time.Since(start).Nanoseconds()), err
		}
		sum += n
	}
}

func measureDatagrams(int, unix.Sockaddr) (float64, error) {
	var fds [2]int
	var at [2]unix.Sockaddr
	for i := range fds {
		var err error
		if fds[i], err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return 0, err
		}
		defer unix.Close(fds[i])
		if err := unix.Bind(fds[i], &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return 0, err
		}
		if at[i], err = unix.Getsockname(fds[i]); err != nil {
			return 0, err
		}
	}
	b, start := []byte{1}, time.Now()
	for i := range 2 * datagrams {
		if err := retry(func() error { return unix.Sendto(fds[i%2], b, 0, at[1-i%2]) }); err != nil {
			return 0, err
		}
		if err := retry(func() error { _, _, err := unix.Recvfrom(fds[1-i%2], b, 0); return err }); err != nil {
			return 0, err
		}
	}
	return perCall(start, datagrams), nil
}

// supervisorMemory returns the memory of the ancestors of this process that are weir, without the
// pages of the file of weir, in bytes; 0: there are none.
func supervisorMemory() (bytes float64) {
	for pid := os.Getppid(); pid > 1; {
		dir := "/proc/" + strconv.Itoa(pid)
		name, _ := os.ReadFile(dir + "/comm")
		if !strings.HasPrefix(string(name), "weir") {
			break
		}
		bytes += 1024 * field(dir+"/status", "RssAnon:")
		pid = int(field(dir+"/status", "PPid:"))
	}
	return bytes
}

// field returns a number of a file of /proc.
func field(file, name string) float64 {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n
		}
	}
	return 0
}
