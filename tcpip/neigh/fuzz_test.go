package neigh

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"weir/wire"
)

// idle does nothing: what is wanted is only counted.
type idle struct{ asked, released, lost int }

func (i *idle) Ask(netip.Addr, wire.MAC)       { i.asked++ }
func (i *idle) Release(*Neighbour, []byte)     { i.released++ }
func (i *idle) Unreachable(netip.Addr, []byte) { i.lost++ }
func (i *idle) Probe(netip.Addr)               {}
func (i *idle) Announce(netip.Addr)            {}
func (i *idle) Held(netip.Addr)                {}
func (i *idle) Conflict(netip.Addr, wire.MAC)  {}
func (i *idle) Lost(netip.Addr, wire.MAC)      {}

// Whatever comes, and whenever: no bound is passed, every packet that waited is sent, lost or still
// waits, and no neighbour has an address that nobody can have.
func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, uint64(1))
	f.Fuzz(func(t *testing.T, steps []byte, seed uint64) {
		table, do, now := &Table{MAC: ours, Addrs: []netip.Addr{us}}, &idle{}, second
		c := &Claims{MAC: ours, Policy: Policy(seed % 3), Rand: rand.New(rand.NewPCG(seed, 0))}
		c.Begin(us, seed%2 == 0, now, do)
		r := rand.New(rand.NewPCG(seed, 1))
		given := 0
		for _, s := range steps[:min(len(steps), 2000)] {
			addr := netip.AddrFrom4([4]byte{10, 0, byte(r.UintN(1 + uint(s))), byte(r.Uint32())})
			switch s % 4 {
			case 0:
				if addr == us { // nobody asks for himself
					continue
				}
				table.Wait(addr, make([]byte, 100+r.IntN(60_000)), now, do)
				given++
			case 1:
				m, fault := wire.ParseARP(wire.AppendARP(nil, wire.ARPOperation(1+r.UintN(2)), wire.MAC{byte(r.Uint32()), 0, 0, 0, 0, s}, addr, ours, us))
				if fault == wire.OK {
					table.Receive(m, now, do)
					c.Receive(m, now, do)
				}
			case 2:
				if n, ok := table.Lookup(addr, now); ok {
					table.Used(n, now)
				}
			case 3:
				now += Time(s) * Time(retry) / 8
				table.Tick(now, do)
				c.Tick(now, do)
			}
		}
		check(t, table, do, given)
	})
}

func check(t *testing.T, table *Table, do *idle, given int) {
	waiting, bytes := 0, 0
	for n := range table.All() {
		waiting += n.Waiting()
		for _, p := range n.waiting {
			bytes += len(p)
		}
		if n.Waiting() > Waiting || n.MAC.Group() || n.Addr == us || n.State == Reachable && n.Waiting() > 0 {
			t.Errorf("%v at %v is %v, and %d packets wait for it", n.Addr, n.MAC, n.State, n.Waiting())
		}
	}
	if len(table.all) > Most || bytes > Bytes || bytes != table.bytes {
		t.Errorf("%d neighbours, %d bytes wait and %d are counted", len(table.all), bytes, table.bytes)
	}
	if got := do.released + waiting + int(table.Dropped); got != given {
		t.Errorf("%d packets were given; %d were sent, %d wait, %d were dropped", given, do.released, waiting, table.Dropped)
	}
}
