package programs

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"weir/tcpip/netsim"
)

// A NATS client connects again after a partition, and its subscription goes on.
func TestNATS(t *testing.T) {
	netsim.Run(t, netsim.Seeds(5), func(w *netsim.World) {
		broker, a, b := w.Host("broker"), w.Host("a"), w.Host("b")
		w.Join(netsim.Path{Delay: 5 * time.Millisecond, Loss: 0.01}, broker, a, b)
		broker.Start(serveNATS)
		connect := func(h *netsim.Host) *nats.Conn {
			c, err := nats.Connect("nats://broker:4222", nats.SetCustomDialer(h), nats.SkipHostLookup(), nats.PingInterval(2*time.Second), nats.MaxReconnects(-1))
			if err != nil {
				w.Fatal(err)
			}
			w.Cleanup(c.Close)
			return c
		}
		publisher, subscriber := connect(a), connect(b)
		// not SubscribeSync: NextMsg takes its timers from a pool of all worlds
		news := make(chan *nats.Msg, 1) // the broker's messages -> the test; one at a time
		if _, err := subscriber.ChanSubscribe("news", news); err != nil {
			w.Fatal(err)
		}
		w.At(10*time.Second, func() { w.Partition(b, broker) })
		w.At(30*time.Second, w.Heal)
		for _, at := range []time.Duration{time.Second, 2 * time.Minute} {
			time.Sleep(at - w.Elapsed())
			if err := publisher.Publish("news", []byte(at.String())); err != nil {
				w.Fatal(err)
			}
			select {
			case m := <-news:
				if string(m.Data) != at.String() {
					w.Errorf("at %v: got %q, want the message", at, m.Data)
				}
			case <-time.After(10 * time.Second):
				w.Errorf("at %v: the message has not come", at)
			}
		}
	})
}

// serveNATS serves connections by an embedded broker. It listens nowhere itself: each connection is
// joined to one in memory.
func serveNATS(h *netsim.Host) error {
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	l, err := h.Listen("tcp", ":4222")
	if err != nil {
		return err
	}
	s.Start()
	context.AfterFunc(h.Context(), s.Shutdown)
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		in, err := s.InProcessConn()
		if err != nil {
			return err
		}
		go copyAndClose(c, in)
		go copyAndClose(in, c)
	}
}

func copyAndClose(to, from net.Conn) {
	io.Copy(to, from) //nolint:errcheck // both ends close
	to.Close()
	from.Close()
}
