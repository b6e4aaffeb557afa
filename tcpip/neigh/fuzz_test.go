package neigh

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"weir/wire"
)

// countingActions counts the actions.
type countingActions struct{ requests, sent, unreachable int }

func (i *countingActions) SendRequest(netip.Addr, wire.MAC) { i.requests++ }
func (i *countingActions) SendQueued(*Neighbour, []byte)    { i.sent++ }
func (i *countingActions) Unreachable(netip.Addr, []byte)   { i.unreachable++ }
func (i *countingActions) Probe(netip.Addr)                 {}
func (i *countingActions) Announce(netip.Addr)              {}
func (i *countingActions) Held(netip.Addr)                  {}
func (i *countingActions) Conflict(netip.Addr, wire.MAC)    {}
func (i *countingActions) Lost(netip.Addr, wire.MAC)        {}

// After any sequence of calls, all limits hold, each queued packet was sent, dropped or still
// waits, and no neighbour has a group address.
func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, uint64(1))
	f.Fuzz(func(t *testing.T, steps []byte, seed uint64) {
		table, do, now := &Table{MAC: ours, Addrs: []netip.Addr{us}}, &countingActions{}, second
		c := &Claims{MAC: ours, Policy: Policy(seed % 3), Rand: rand.New(rand.NewPCG(seed, 0))}
		c.Claim(us, seed%2 == 0, now, do)
		r := rand.New(rand.NewPCG(seed, 1))
		queued := 0
		for _, s := range steps[:min(len(steps), 2000)] {
			addr := netip.AddrFrom4([4]byte{10, 0, byte(r.UintN(1 + uint(s))), byte(r.Uint32())})
			switch s % 4 {
			case 0:
				if addr == us { // a host does not resolve itself
					continue
				}
				table.Queue(addr, make([]byte, 100+r.IntN(60_000)), now, do)
				queued++
			case 1:
				m, fault := wire.ParseARP(wire.AppendARP(nil, wire.ARPOperation(1+r.UintN(2)), wire.MAC{byte(r.Uint32()), 0, 0, 0, 0, s}, addr, ours, us))
				if fault == wire.OK {
					table.Receive(m, now, do)
					c.Receive(m, now, do)
				}
			case 2:
				if n, ok := table.Lookup(addr); ok {
					table.MarkUsed(n, now)
				}
			case 3:
				now += Time(s) * Time(requestInterval) / 8
				table.Tick(now, do)
				c.Tick(now, do)
			}
		}
		check(t, table, do, queued)
	})
}

// check compares the table with the limits and the counts.
func check(t *testing.T, table *Table, do *countingActions, queued int) {
	waiting, bytes := 0, 0
	for n := range table.All() {
		waiting += n.Waiting()
		for _, p := range n.waitingPackets {
			bytes += len(p)
		}
		if n.Waiting() > MaxWaitingPackets || n.MAC.IsGroup() || n.Addr == us || n.State == Reachable && n.Waiting() > 0 {
			t.Errorf("the neighbour %v at %v is %v with %d waiting packets; want at most %d, none while reachable, no group MAC address and not the host itself", n.Addr, n.MAC, n.State, n.Waiting(), MaxWaitingPackets)
		}
	}
	if len(table.neighbours) > MaxNeighbours || bytes > MaxWaitingBytes || bytes != table.waitingBytes {
		t.Errorf("got %d neighbours and %d bytes that wait, counted as %d; want at most %d, at most %d, and the same count", len(table.neighbours), bytes, table.waitingBytes, MaxNeighbours, MaxWaitingBytes)
	}
	if got := do.sent + waiting + int(table.Dropped); got != queued {
		t.Errorf("got %d packets sent, %d waiting and %d dropped; want %d in sum, as queued", do.sent, waiting, table.Dropped, queued)
	}
}
