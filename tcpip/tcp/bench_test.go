package tcp

import (
	"testing"
	"time"

	"weir/wire"
)

// BenchmarkBulk measures both ends without a link: 32 segments or superframes a batch, one
// acknowledgment a batch, no loss.
func BenchmarkBulk(b *testing.B) {
	for _, c := range []struct {
		name string
		conf Config
		size int
	}{{"segments", Config{}, 1448}, {"superframes", Config{Superframe: 62264}, 62264}} {
		b.Run(c.name, func(b *testing.B) {
			p := newPipe(c.conf)
			data, sink := make([]byte, 32*c.size), make([]byte, 32*c.size)
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			for n := 0; n < b.N; n += 32 {
				p.transfer(data, sink)
			}
		})
	}
}

// BenchmarkRoundTrip measures both ends for one byte there and one byte back.
func BenchmarkRoundTrip(b *testing.B) {
	p := newPipe(Config{})
	p.a.SetNoDelay(true)
	p.b.SetNoDelay(true)
	one, sink := make([]byte, 1), make([]byte, 1)
	b.ReportAllocs()
	for b.Loop() {
		p.transfer(one, sink)
		p.a, p.b = p.b, p.a
	}
}

// pipe connects two ends directly.
type pipe struct {
	a, b *Conn
	now  Time
}

// bufferPool is a Memory that pools the freed buffers of each size.
type bufferPool map[int][][]byte

func (k bufferPool) Get(size int) []byte {
	last := len(k[size]) - 1
	if last < 0 {
		return make([]byte, size)
	}
	b := k[size][last]
	k[size] = k[size][:last]
	return b
}

func (k bufferPool) Share(bool) int { return Unlimited }

func (k bufferPool) Put(b []byte) { k[len(b)] = append(k[len(b)], b) }

func newPipe(c Config) *pipe {
	c.Memory = bufferPool{}
	c = c.WithDefaults()
	p := &pipe{now: Time(time.Hour)}
	p.a = Dial(&c, 1, 2)
	p.a.Output(p.now, func(o *OutSegment) {
		s := asSegment(o)
		p.b = Accept(&c, 3, 4, &s, p.now)
	})
	p.flush(p.b, p.a)
	p.flush(p.a, p.b)
	return p
}

// asSegment is the segment that the other end receives.
func asSegment(o *OutSegment) Segment {
	return Segment{Seq: o.Seq, Ack: o.Ack, Flags: o.Flags, Window: o.Window, Options: o.Options, Payload: o.Payload[0]}
}

// flush delivers what one end sends to the other.
func (p *pipe) flush(from, to *Conn) {
	from.Output(p.now, func(o *OutSegment) {
		s := asSegment(o)
		second := o.Payload[1]
		if len(second) > 0 {
			s.Flags &^= wire.PSH | wire.FIN
		}
		to.Arrive(p.now, &s)
		if len(second) > 0 {
			s.Seq, s.Payload = s.Seq.Add(len(s.Payload)), second
			to.Arrive(p.now, &s)
		}
	})
}

// transfer sends data from a to b, which reads it into sink.
func (p *pipe) transfer(data, sink []byte) {
	for read := 0; read < len(sink); {
		p.now += 50_000
		if len(data) > 0 {
			data = data[p.a.Write(p.now, data):]
		}
		p.flush(p.a, p.b)
		p.now += 50_000
		for n := p.b.Read(p.now, sink); n > 0; n = p.b.Read(p.now, sink) {
			read += n
		}
		p.flush(p.b, p.a)
		if at := earlier(p.a.Deadline(), p.b.Deadline()); at.due(p.now) {
			p.a.Tick(p.now)
			p.b.Tick(p.now)
		}
	}
}
