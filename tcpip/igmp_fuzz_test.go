package tcpip

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// FuzzGroupMessages sends a stack that has joined groups two messages of IGMP and of MLD, with
// right headers and checksums. It must not panic, and must answer by few frames only.
func FuzzGroupMessages(f *testing.F) {
	sources := wire.NewAddrList(bareAddr, stackAddr)
	f.Add(wire.AppendIGMPQuery(nil, &igmpQuery), wire.AppendIGMPQuery(nil, &wire.GroupQuery{Version: 3, Group: group4, Sources: sources}))
	f.Add(wire.AppendIGMPQuery(nil, &wire.GroupQuery{Version: 2, Group: group4, MaxResponse: time.Second}), wire.AppendIGMPReport(nil, &wire.GroupReport{Version: 2, Group: group4}))
	f.Add(wire.AppendMLDQuery(nil, queryRouter6, allNodes, &mldQuery), wire.AppendMLDQuery(nil, queryRouter6, allNodes, &wire.GroupQuery{Version: 1, Group: group6}))
	f.Add(wire.AppendMLDReport(nil, queryRouter6, group6, &wire.GroupReport{Version: 1, Group: group6}), wire.AppendMLDQuery(nil, queryRouter6, allNodes, &wire.GroupQuery{Version: 2, Group: group6}))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		synctest.Test(t, func(t *testing.T) { sendGroupMessages(t, first, second) })
	})
}

func sendGroupMessages(t *testing.T, all ...[]byte) {
	la, lb := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "2001:db8::1/64")})
	defer lb.Close()
	for _, group := range []netip.Addr{group4, group6} {
		listenGroup(t, s, "", group, 5000)
	}
	time.Sleep(5 * time.Second)
	read := func() (n int) {
		frames := make([]link.Frame, 32)
		for {
			got, err := lb.Queue(0).Read(frames, 10*time.Second)
			if got == 0 || err != nil {
				return n
			}
			n += got
		}
	}
	read()
	for _, message := range all {
		message = slices.Clone(message[:min(len(message), 1400)])
		if len(message) < 4 {
			return
		}
		message[2], message[3] = 0, 0
		sendIGMPTo(lb.Queue(0), slices.Clone(message))
		sendMLDTo(lb.Queue(0), message)
		synctest.Wait()
	}
	if n := read(); n > 40 {
		t.Errorf("the stack has answered %d messages by %d frames, want at most 40", 2*len(all), n)
	}
}

// sendIGMPTo sends a message of IGMP from the link, with its checksum.
func sendIGMPTo(q link.Queue, message []byte) {
	dst := netip.AddrFrom4([4]byte{224, 0, 0, 1})
	if message[0] != byte(wire.MembershipQuery) {
		dst = group4
	}
	sum := wire.Sum{}.Add(message).Checksum()
	message[2], message[3] = byte(sum>>8), byte(sum)
	f := wire.IPv4Fields{TTL: 1, Protocol: wire.IGMPProtocol, Src: bareAddr, Dst: dst, Options: wire.RouterAlertOption(), Payload: len(message)}
	q.Write(&link.Parts{Head: wire.AppendIPv4(wire.AppendEthernet(nil, wire.MAC{1, 0, 0x5e, 5: 1}, wire.MAC{2}, wire.TypeIPv4), &f), Body: [2][]byte{message}})
}

// sendMLDTo sends a message of MLD from the link, with its checksum.
func sendMLDTo(q link.Queue, message []byte) {
	dst := allNodes
	if message[0] != byte(wire.ListenerQuery) {
		dst = group6
	}
	sum := wire.Sum{}.Pseudo(queryRouter6, dst, wire.ICMPv6Protocol, len(message)).Add(message).Checksum()
	message[2], message[3] = byte(sum>>8), byte(sum)
	message = append(wire.AppendRouterAlert(nil, wire.ICMPv6Protocol), message...)
	f := wire.IPv6Fields{NextHeader: wire.HopByHop, HopLimit: 1, Src: queryRouter6, Dst: dst, Payload: len(message)}
	q.Write(&link.Parts{Head: wire.AppendIPv6(wire.AppendEthernet(nil, wire.MAC{0x33, 0x33, 5: 1}, wire.MAC{2}, wire.TypeIPv6), &f), Body: [2][]byte{message}})
}
