package wgtun

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/curve25519"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"

	"weir/wire"
)

// waitLimit is how long a test waits for what it expects.
const waitLimit = 30 * time.Second

// host is a host of a WireGuard network.
type host struct {
	wireguard       *device.Device
	net             *Net
	private, public string // keys in hexadecimal
	addr4, addr6    netip.Addr
	port            string // of its UDP socket
}

// newHost starts host i.
func newHost(t testing.TB, i byte) *host {
	t.Helper()
	h := &host{addr4: netip.AddrFrom4([4]byte{10, 5, 0, i}), addr6: netip.AddrFrom16([16]byte{0: 0xfd, 15: i})}
	key := make([]byte, 32)
	rand.Read(key)
	public, err := curve25519.X25519(key, curve25519.Basepoint)
	if err != nil {
		t.Fatal(err)
	}
	h.private, h.public = hex.EncodeToString(key), hex.EncodeToString(public)
	tun, network, err := CreateNetTUN([]netip.Addr{h.addr4, h.addr6}, nil, 1420)
	if err != nil {
		t.Fatal(err)
	}
	h.net = network
	h.wireguard = device.NewDevice(tun, conn.NewDefaultBind(), device.NewLogger(device.LogLevelSilent, ""))
	t.Cleanup(h.wireguard.Close)
	h.configure(t, "private_key=%s\nlisten_port=0\n", h.private)
	if err := h.wireguard.Up(); err != nil {
		t.Fatal(err)
	}
	h.readPort(t)
	return h
}

func (h *host) configure(t testing.TB, format string, args ...any) {
	t.Helper()
	if err := h.wireguard.IpcSet(fmt.Sprintf(format, args...)); err != nil {
		t.Fatal(err)
	}
}

// readPort reads the port of the host's UDP socket.
func (h *host) readPort(t testing.TB) {
	t.Helper()
	state, err := h.wireguard.IpcGet()
	if err != nil {
		t.Fatal(err)
	}
	_, h.port, _ = strings.Cut(state, "listen_port=")
	h.port, _, _ = strings.Cut(h.port, "\n")
}

// knows makes h send to other.
func (h *host) knows(t testing.TB, other *host) {
	t.Helper()
	h.configure(t, "public_key=%s\nendpoint=127.0.0.1:%s\nallowed_ip=%v/32\nallowed_ip=%v/128\n", other.public, other.port, other.addr4, other.addr6)
}

// pair returns two hosts that know each other.
func pair(t testing.TB) (a, b *host) {
	a, b = newHost(t, 1), newHost(t, 2)
	a.knows(t, b)
	b.knows(t, a)
	return a, b
}

// echo echoes what clients of a listener send.
func echo(l net.Listener) {
	for c, err := l.Accept(); err == nil; c, err = l.Accept() {
		go func() { // until the client has sent all
			io.Copy(c, c) //nolint:errcheck // the client sees it
			c.Close()
		}()
	}
}

// exchange sends data to an echo server and requires them back.
func exchange(t testing.TB, c net.Conn, data []byte) {
	t.Helper()
	c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // the exchange shows it
	var sent sync.WaitGroup
	sent.Go(func() {
		if _, err := c.Write(data); err != nil {
			t.Errorf("writing: %v", err)
		}
		c.(interface{ CloseWrite() error }).CloseWrite() //nolint:errcheck // as above
	})
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes and %v, want the %d that were sent", len(got), err, len(data))
	}
	sent.Wait()
	c.Close()
}

func TestConnectionsPassThroughWireGuard(t *testing.T) {
	a, b := pair(t)
	l, err := b.net.ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	go echo(l)
	data := bytes.Repeat([]byte("weir"), 1<<20)
	for _, dst := range []netip.Addr{b.addr4, b.addr6} {
		at := netip.AddrPortFrom(dst, 80)
		for name, dial := range map[string]func() (net.Conn, error){
			"Dial":                   func() (net.Conn, error) { return a.net.Dial("tcp", at.String()) },
			"DialContextTCPAddrPort": func() (net.Conn, error) { return a.net.DialContextTCPAddrPort(t.Context(), at) },
			"DialTCP":                func() (net.Conn, error) { return a.net.DialTCP(net.TCPAddrFromAddrPort(at)) },
		} {
			c, err := dial()
			if err != nil {
				t.Fatalf("%s to %v: %v", name, at, err)
			}
			exchange(t, c, data)
		}
		var many sync.WaitGroup
		for range 20 {
			many.Go(func() {
				c, err := a.net.DialTCPAddrPort(at)
				if err != nil {
					t.Error(err)
					return
				}
				exchange(t, c, data[:100_000])
			})
		}
		many.Wait()
	}
	if n := a.net.Stack().Retransmitted() + b.net.Stack().Retransmitted(); n > 1000 {
		t.Errorf("%d segments were sent again, want few: loopback loses little", n)
	}
}

func TestDatagramsPassThroughWireGuard(t *testing.T) {
	a, b := pair(t)
	server, err := b.net.ListenUDP(&net.UDPAddr{Port: 53})
	if err != nil {
		t.Fatal(err)
	}
	for _, dst := range []netip.Addr{b.addr4, b.addr6} {
		c, err := a.net.DialUDPAddrPort(netip.AddrPortFrom(netip.Addr{}, 4000), netip.AddrPortFrom(dst, 53))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("question")); err != nil {
			t.Fatal(err)
		}
		var p [100]byte
		n, from, err := server.ReadFromUDPAddrPort(p[:])
		if err != nil || string(p[:n]) != "question" || from.Port() != 4000 {
			t.Fatalf("got %q from %v and %v, want the question from port 4000", p[:n], from, err)
		}
		if _, err := server.WriteToUDPAddrPort([]byte("answer"), from); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(p[:]); err != nil || string(p[:n]) != "answer" {
			t.Errorf("got %q and %v, want the answer", p[:n], err)
		}
		c.Close()
	}
}

func TestPingsPassThroughWireGuard(t *testing.T) {
	a, b := pair(t)
	for dst, request := range map[netip.Addr]byte{b.addr4: byte(wire.EchoRequest), b.addr6: byte(wire.EchoRequest6)} {
		c, err := a.net.Dial("ping", dst.String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
		if _, err := c.Write([]byte{request, 0, 0, 0, 0, 0, 0, 7, 'w', 'e', 'i', 'r'}); err != nil {
			t.Fatal(err)
		}
		var p [100]byte
		n, err := c.Read(p[:])
		if err != nil || n != 12 || wire.ICMP(p[:n]).EchoSeq() != 7 || string(p[8:n]) != "weir" {
			t.Errorf("%v: got %x and %v, want the reply to request 7", dst, p[:n], err)
		}
		if _, err := c.Write([]byte{3, 0, 0, 0, 0, 0, 0, 7}); err == nil {
			t.Error("a message that is no echo request was sent, want an error")
		}
		c.Close()
		if _, err := c.Read(p[:]); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading from a closed socket: got %v, want net.ErrClosed", err)
		}
	}
}

func TestAWebServerBehindWireGuard(t *testing.T) {
	a, b := pair(t)
	l, err := b.net.ListenTCPAddrPort(netip.AddrPortFrom(netip.Addr{}, 80))
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })}
	go server.Serve(l) //nolint:errcheck // until Close
	defer server.Close()
	client := http.Client{Transport: &http.Transport{DialContext: a.net.DialContext}, Timeout: waitLimit}
	defer client.CloseIdleConnections()
	resp, err := client.Get(fmt.Sprintf("http://[%v]/", b.addr6))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if want := fmt.Sprintf("[%v]", b.addr6); err != nil || string(body) != want {
		t.Errorf("got %q and %v, want %q", body, err, want)
	}
}

// Many peers reach one host at once.
func TestManyPeersThroughWireGuard(t *testing.T) {
	hub := newHost(t, 1)
	l, err := hub.net.ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	go echo(l)
	var peers sync.WaitGroup
	for i := range 10 {
		peer := newHost(t, byte(10+i))
		peer.knows(t, hub)
		hub.knows(t, peer)
		peers.Go(func() {
			for _, dst := range []netip.Addr{hub.addr4, hub.addr6} {
				c, err := peer.net.DialTCPAddrPort(netip.AddrPortFrom(dst, 80))
				if err != nil {
					t.Error(err)
					return
				}
				exchange(t, c, bytes.Repeat([]byte{byte(i)}, 200_000))
			}
		})
	}
	peers.Wait()
}

// A connection goes on when a peer's address changes.
func TestAConnectionSurvivesRoaming(t *testing.T) {
	a, b := pair(t)
	l, err := b.net.ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	go echo(l)
	c, err := a.net.Dial("tcp", netip.AddrPortFrom(b.addr4, 80).String())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
	for round := range 3 {
		if _, err := io.WriteString(c, "here"); err != nil {
			t.Fatal(err)
		}
		var p [4]byte
		if _, err := io.ReadFull(c, p[:]); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		before := a.port
		a.configure(t, "listen_port=0\n")
		if a.readPort(t); a.port == before {
			t.Fatalf("the port is still %s, want another one", before)
		}
	}
	c.Close()
}

func TestClosingTheDeviceEndsEverything(t *testing.T) {
	a, b := pair(t)
	l, err := b.net.ListenTCP(&net.TCPAddr{Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	go echo(l)
	c, err := a.net.Dial("tcp", netip.AddrPortFrom(b.addr4, 80).String())
	if err != nil {
		t.Fatal(err)
	}
	a.wireguard.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection of a closed device was read, want an error")
	}
	if _, err := a.net.Dial("tcp", netip.AddrPortFrom(b.addr4, 80).String()); err == nil {
		t.Error("a closed device has connected, want an error")
	}
}

// A device without WireGuard: what its Read and Write promise.
func TestADeviceReadsInSmallBatches(t *testing.T) {
	tun, network, err := CreateNetTUN([]netip.Addr{netip.MustParseAddr("10.5.0.1")}, nil, 1420)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var dials sync.WaitGroup
	dials.Go(func() { network.DialContextTCPAddrPort(ctx, netip.MustParseAddrPort("10.5.0.2:80")) }) //nolint:errcheck // it is not answered
	buffer, sizes := [][]byte{make([]byte, 2000)}, make([]int, 1)
	if n, err := tun.Read(buffer, sizes, 16); n != 1 || err != nil || wire.IPv4(buffer[0][16:16+sizes[0]]).Protocol() != wire.TCPProtocol {
		t.Errorf("got %d packets and %v, want a SYN", n, err)
	}
	if _, err := tun.Write([][]byte{{0x10, 0, 0}}, 0); err == nil {
		t.Error("a packet of IP version 1 was accepted, want an error")
	}
	cancel()
	dials.Wait()
	if err := tun.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if _, err := tun.Read(buffer, sizes, 16); !errors.Is(err, os.ErrClosed) {
			t.Errorf("reading from a closed device: got %v, want os.ErrClosed", err)
		}
	}
}
