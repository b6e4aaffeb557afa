package tcpip

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// withKernel runs a benchmark between the kernel and a stack on a TAP device, for each kind of
// application on the stack. Processor time is that of both ends.
func withKernel(b *testing.B, do func(b *testing.B, dial func() net.Conn)) {
	for name, start := range applications {
		b.Run(name, func(b *testing.B) {
			p := kernel(b, false)
			start(b, p.stack)
			dial := func() (c net.Conn) {
				if err := p.inside(func() (err error) { c, err = kernelDial(stackHost + ":7"); return err }); err != nil {
					b.Fatal(err)
				}
				return c
			}
			dial().Close() // both have learnt their neighbour
			began := processorTime()
			do(b, dial)
			b.ReportMetric(float64((processorTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u) //nolint:errcheck // it never fails
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A byte there and back.
func BenchmarkKernelRoundTrip(b *testing.B) { withKernel(b, roundTrips) }

// A stream there and back.
func BenchmarkKernelStream(b *testing.B) { withKernel(b, streams) }
