package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/crypto/curve25519"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"weir/tcpip/wgtun"
)

const mtu = 1420

// host is a host of the WireGuard network, on one of the stacks.
type host struct {
	dial   func(netip.AddrPort) (net.Conn, error)
	listen func(netip.AddrPort) (net.Listener, error)
	device *device.Device
	public string // key
	port   string // of the UDP socket
}

// newStack returns a device and the functions of the host behind it.
func newStack(kind string, addrs []netip.Addr) (tun.Device, *host, error) {
	if kind == "gvisor" {
		d, n, err := netstack.CreateNetTUN(addrs, nil, mtu)
		return d, &host{dial: func(a netip.AddrPort) (net.Conn, error) { return n.DialTCPAddrPort(a) }, listen: func(a netip.AddrPort) (net.Listener, error) { return n.ListenTCPAddrPort(a) }}, err
	}
	if kind != "weir" {
		return nil, nil, fmt.Errorf("the stack is %q: write weir or gvisor", kind)
	}
	d, n, err := wgtun.CreateNetTUN(addrs, nil, mtu)
	return d, &host{dial: func(a netip.AddrPort) (net.Conn, error) { return n.DialTCPAddrPort(a) }, listen: func(a netip.AddrPort) (net.Listener, error) { return n.ListenTCPAddrPort(a) }}, err
}

// addrsOf returns the addresses of host i, by IPv4 and IPv6.
func addrsOf(i byte) []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{10, 5, 0, i}), netip.AddrFrom16([16]byte{0: 0xfd, 15: i})}
}

func newHost(kind string, i byte) (*host, error) {
	d, h, err := newStack(kind, addrsOf(i))
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	rand.Read(key) // it never fails
	public, err := curve25519.X25519(key, curve25519.Basepoint)
	if err != nil {
		return nil, err
	}
	h.public = hex.EncodeToString(public)
	h.device = device.NewDevice(d, conn.NewDefaultBind(), device.NewLogger(device.LogLevelSilent, ""))
	if err := h.device.IpcSet(fmt.Sprintf("private_key=%x\nlisten_port=0\n", key)); err != nil {
		return nil, err
	}
	if err := h.device.Up(); err != nil {
		return nil, err
	}
	state, err := h.device.IpcGet()
	_, h.port, _ = strings.Cut(state, "listen_port=")
	h.port, _, _ = strings.Cut(h.port, "\n")
	return h, err
}

// newHosts returns two hosts that know each other.
func newHosts(kind string) (a, b *host, err error) {
	if a, err = newHost(kind, 1); err != nil {
		return nil, nil, err
	}
	if b, err = newHost(kind, 2); err != nil {
		return nil, nil, err
	}
	if err = a.knows(b, 2); err == nil {
		err = b.knows(a, 1)
	}
	return a, b, err
}

// knows makes h send to host i.
func (h *host) knows(other *host, i byte) error {
	addrs := addrsOf(i)
	return h.device.IpcSet(fmt.Sprintf("public_key=%s\nendpoint=127.0.0.1:%s\nallowed_ip=%v/32\nallowed_ip=%v/128\n", other.public, other.port, addrs[0], addrs[1]))
}
