package ip

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"weir/wire"
)

// reassembler is how BenchmarkAssembly delivers fragments; the work on the bytes is the same.
type reassembler interface {
	add(p wire.IPv4)
	next() wire.IPv4 // waits for a complete packet
	close()
}

// calls is a Reassembler called directly.
type calls struct {
	a    *Reassembler
	done wire.IPv4
}

func (c *calls) add(p wire.IPv4) {
	if got, o := c.a.Add(p, 1); o == Complete {
		c.done = got
	}
}

func (c *calls) next() wire.IPv4 { return c.done }
func (c *calls) close()          {}

// processes is the design of the GoNet listing: for each packet a goroutine that reassembles it and
// one that times it out, four channels, and a map from packets to goroutines.
type processes struct {
	mu       sync.Mutex
	byPacket map[packetID]chan wire.IPv4
	packets  chan wire.IPv4 // from the goroutines to next; capacity 1
	closed   chan struct{}  // closed by close
	running  sync.WaitGroup
}

const inputs = 32 // fragments that wait for their goroutine

func newProcesses() *processes {
	return &processes{byPacket: map[packetID]chan wire.IPv4{}, packets: make(chan wire.IPv4, 1), closed: make(chan struct{})}
}

func (s *processes) add(p wire.IPv4) {
	id := packetID{p.Src(), p.Dst(), p.Protocol(), uint32(p.ID())}
	s.mu.Lock()
	in := s.byPacket[id]
	if in == nil {
		in = make(chan wire.IPv4, inputs)
		s.byPacket[id] = in
		quit, done, did := make(chan bool, 1), make(chan bool, 1), make(chan bool, 1)
		s.running.Go(func() { s.assemble(in, quit, done, did) })
		s.running.Go(func() { s.end(id, quit, done, did) })
	}
	s.mu.Unlock()
	in <- p
}

func (s *processes) assemble(in <-chan wire.IPv4, quit <-chan bool, done, did chan<- bool) {
	a := NewReassembler(Limits{})
	for {
		select {
		case p := <-in:
			if got, o := a.Add(p, 1); o == Complete {
				s.packets <- got
				done <- true
				return
			}
		case <-quit:
			did <- true
			return
		}
	}
}

func (s *processes) end(id packetID, quit chan<- bool, done, did <-chan bool) {
	t := time.NewTimer(30 * time.Second)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		quit <- true
		<-did
	case <-s.closed:
		quit <- true
		<-did
	}
	s.mu.Lock()
	delete(s.byPacket, id)
	s.mu.Unlock()
}

func (s *processes) next() wire.IPv4 { return <-s.packets }
func (s *processes) close()          { close(s.closed); s.running.Wait() }

// BenchmarkAssembly measures a packet of 4,000 bytes in three fragments, and the memory of one of
// which only the first has arrived.
func BenchmarkAssembly(b *testing.B) {
	for name, make := range map[string]func() reassembler{
		"calls": func() reassembler {
			return &calls{a: NewReassembler(Limits{Memory: 1 << 30, PacketsPerSource: 1 << 20})}
		},
		"processes": func() reassembler { return newProcesses() },
	} {
		b.Run(name+"/packet", func(b *testing.B) {
			s := make()
			defer s.close()
			all, payload := fragments(1, 4000, 1500)
			b.ReportAllocs()
			b.SetBytes(int64(len(payload)))
			for id := uint16(0); b.Loop(); id++ {
				for _, p := range all {
					p[4], p[5] = byte(id>>8), byte(id)
					s.add(p)
				}
				if got := s.next(); len(got.Payload()) != len(payload) {
					b.Fatal(len(got))
				}
			}
		})
		b.Run(name+"/unfinished", func(b *testing.B) {
			const packets = 10_000
			for b.Loop() {
				s := make()
				before := heldMemory()
				for id := range packets {
					f := fields(uint16(id))
					f.MoreFragments, f.Payload = true, 1480
					s.add(append(wire.AppendIPv4(nil, &f), payload[:]...))
				}
				b.ReportMetric(float64(heldMemory()-before)/packets, "B/packet")
				s.close()
			}
		})
	}
}

var payload [1480]byte

// heldMemory is the memory of the heap and of the stacks of goroutines.
func heldMemory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
