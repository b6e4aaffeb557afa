package ip

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"weir/wire"
)

// shape is how fragments get to their assembly, for BenchmarkAssembly: the work on the bytes is the
// same.
type shape interface {
	add(p wire.IPv4)
	whole() wire.IPv4 // waits for a packet
	close()
}

// calls is an Assembler as it is.
type calls struct {
	a    *Assembler
	done wire.IPv4
}

func (c *calls) add(p wire.IPv4) {
	if got, o := c.a.Add(p, 1); o == Whole {
		c.done = got
	}
}

func (c *calls) whole() wire.IPv4 { return c.done }
func (c *calls) close()           {}

// processes is the form that GoNet's listing shows: for each packet a goroutine that assembles and
// one that ends it when its time is over, four channels, and a table of those that fragments go to.
type processes struct {
	mu      sync.Mutex
	of      map[packetID]chan wire.IPv4
	packets chan wire.IPv4 // assemblers -> whoever reads; capacity 1
	over    chan struct{}  // closed by close
	running sync.WaitGroup
}

const inputs = 32 // fragments that wait for their assembler

func newProcesses() *processes {
	return &processes{of: map[packetID]chan wire.IPv4{}, packets: make(chan wire.IPv4, 1), over: make(chan struct{})}
}

func (s *processes) add(p wire.IPv4) {
	id := packetID{p.Src(), p.Dst(), p.Protocol(), p.ID()}
	s.mu.Lock()
	in := s.of[id]
	if in == nil {
		in = make(chan wire.IPv4, inputs)
		s.of[id] = in
		quit, done, did := make(chan bool, 1), make(chan bool, 1), make(chan bool, 1)
		s.running.Go(func() { s.assemble(in, quit, done, did) })
		s.running.Go(func() { s.end(id, quit, done, did) })
	}
	s.mu.Unlock()
	in <- p
}

func (s *processes) assemble(in <-chan wire.IPv4, quit <-chan bool, done, did chan<- bool) {
	a := NewAssembler(Limits{})
	for {
		select {
		case p := <-in:
			if got, o := a.Add(p, 1); o == Whole {
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
	case <-s.over:
		quit <- true
		<-did
	}
	s.mu.Lock()
	delete(s.of, id)
	s.mu.Unlock()
}

func (s *processes) whole() wire.IPv4 { return <-s.packets }
func (s *processes) close()           { close(s.over); s.running.Wait() }

// BenchmarkAssembly is what a packet of 4,000 bytes in three fragments costs, and what is held for
// one of which only the first has come.
func BenchmarkAssembly(b *testing.B) {
	for name, make := range map[string]func() shape{
		"calls":     func() shape { return &calls{a: NewAssembler(Limits{Memory: 1 << 30, Each: 1 << 20})} },
		"processes": func() shape { return newProcesses() },
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
				if got := s.whole(); len(got.Payload()) != len(payload) {
					b.Fatal(len(got))
				}
			}
		})
		b.Run(name+"/unfinished", func(b *testing.B) {
			const packets = 10_000
			for b.Loop() {
				s := make()
				before := held()
				for id := range packets {
					f := fields(uint16(id))
					f.MoreFragments, f.Payload = true, 1480
					s.add(append(wire.AppendIPv4(nil, &f), payload[:]...))
				}
				b.ReportMetric(float64(held()-before)/packets, "B/packet")
				s.close()
			}
		})
	}
}

var payload [1480]byte

// held is what the heap and the stacks of goroutines hold.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
