package netsim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"weir/tcpip"
	"weir/tcpip/netsim"
)

// once runs a test in one world.
func once(t *testing.T, test func(*netsim.World)) { netsim.Run(t, netsim.Seed(1), test) }

// pair returns two hosts that a link joins.
func pair(w *netsim.World, p netsim.Path) (a, b *netsim.Host) {
	a, b = w.Host("a"), w.Host("b")
	w.Link(a, b, p)
	return a, b
}

// echo sends back what comes to port 7.
func echo(h *netsim.Host) error {
	l, err := h.Listen("tcp", ":7")
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			io.Copy(c, c) //nolint:errcheck // the client notices
			c.Close()
		}()
	}
}

// says writes a line and returns the answer.
func says(c net.Conn, line string) (string, error) {
	if _, err := io.WriteString(c, line); err != nil {
		return "", err
	}
	b := make([]byte, len(line))
	n, err := io.ReadFull(c, b)
	return string(b[:n]), err
}

func TestADelayIsExactToAMicrosecond(t *testing.T) {
	once(t, func(w *netsim.World) {
		a, b := pair(w, netsim.Path{Delay: 50 * time.Millisecond})
		b.Start(echo)
		begun := time.Now()
		c, err := a.Dial("tcp", "b:7")
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		if took := time.Since(begun); took < 100*time.Millisecond || took > 100*time.Millisecond+3*time.Microsecond {
			w.Errorf("connecting took %v, want 100 ms and at most 3 us", took)
		}
	})
}

// A crash leaves the peer with a connection of which it hears nothing: no FIN and no RST.
func TestACrashedHostIsSilent(t *testing.T) {
	once(t, func(w *netsim.World) {
		a, b := pair(w, netsim.Path{Delay: time.Millisecond})
		b.Start(echo)
		c, err := a.Dial("tcp", "b:7")
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		if got, err := says(c, "before"); got != "before" || err != nil {
			w.Fatalf("got %q and error %v, want the echo", got, err)
		}
		b.Crash()
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := says(c, "after"); !errors.Is(err, os.ErrDeadlineExceeded) {
			w.Errorf("after the crash: got error %v, want silence until the deadline", err)
		}
	})
}

// After a restart the host does not know old connections: it resets them.
func TestARestartedHostRunsItsProgramsAgain(t *testing.T) {
	once(t, func(w *netsim.World) {
		a, b := pair(w, netsim.Path{Delay: time.Millisecond})
		b.Start(echo)
		old, err := a.Dial("tcp", "b:7")
		if err != nil {
			w.Fatal(err)
		}
		defer old.Close()
		b.Restart()
		if _, err := says(old, "x"); !errors.Is(err, syscall.ECONNRESET) {
			w.Errorf("the old connection: got error %v, want ECONNRESET", err)
		}
		c, err := a.Dial("tcp", "b:7")
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		if got, err := says(c, "again"); got != "again" || err != nil {
			w.Errorf("got %q and error %v, want the echo of the new run", got, err)
		}
	})
}

// The rest of a crashed run reaches nothing, even when the host runs again.
func TestACrashedRunReachesNothing(t *testing.T) {
	once(t, func(w *netsim.World) {
		_, b := pair(w, netsim.Path{})
		var old *netsim.Host
		var listener net.Listener
		ended := make(chan struct{})
		b.Start(func(h *netsim.Host) error {
			if old != nil {
				return nil
			}
			var err error
			old = h
			if listener, err = h.Listen("tcp", ":80"); err != nil {
				return err
			}
			h.Disk().WriteFile("f", []byte("old")) //nolint:errcheck // not yet crashed
			<-h.Context().Done()
			close(ended)
			return h.Context().Err()
		})
		time.Sleep(time.Millisecond)
		b.Restart()
		<-ended
		_, listenErr := old.Listen("tcp", ":81")
		_, dialErr := old.Dial("tcp", "a:80")
		_, acceptErr := listener.Accept()
		for what, err := range map[string]error{
			"Listen": listenErr, "Dial": dialErr, "WriteFile": old.Disk().WriteFile("f", nil), "Sync": old.Disk().Sync("f"),
		} {
			if !errors.Is(err, netsim.ErrCrashed) {
				w.Errorf("%s by the crashed run: got error %v, want ErrCrashed", what, err)
			}
		}
		if !errors.Is(acceptErr, net.ErrClosed) {
			w.Errorf("Accept by the crashed run: got error %v, want net.ErrClosed", acceptErr)
		}
	})
}

func TestADiskKeepsWhatWasSynced(t *testing.T) {
	once(t, func(w *netsim.World) {
		h := w.Host("h")
		disk := h.Disk()
		for _, err := range []error{
			disk.WriteFile("log", []byte("one")), disk.Sync("log"), disk.Append("log", []byte(" two")),
			disk.WriteFile("new", []byte("x")), disk.WriteFile("gone", []byte("x")), disk.Remove("gone"), disk.Rename("log", "log.1"),
		} {
			if err != nil {
				w.Fatal(err)
			}
		}
		if got, err := disk.ReadFile("log.1"); string(got) != "one two" || err != nil {
			w.Errorf("before the crash: got %q and error %v, want all that was written", got, err)
		}
		h.Restart()
		if names, err := disk.Names(""); len(names) != 2 || names[0] != "log.1" || names[1] != "new" || err != nil {
			w.Errorf("got the files %q and error %v, want log.1 and new", names, err)
		}
		for name, want := range map[string]string{"log.1": "one", "new": ""} {
			if got, err := disk.ReadFile(name); string(got) != want || err != nil {
				w.Errorf("%s: got %q and error %v, want what was synced, %q", name, got, err, want)
			}
		}
		if _, err := disk.ReadFile("gone"); !errors.Is(err, fs.ErrNotExist) {
			w.Errorf("a removed file: got error %v, want fs.ErrNotExist", err)
		}
	})
}

func TestAPausedHostGetsItsPacketsLater(t *testing.T) {
	once(t, func(w *netsim.World) {
		a, b := pair(w, netsim.Path{Delay: time.Millisecond})
		pa, _ := a.ListenPacket("udp", ":1")
		pb, _ := b.ListenPacket("udp", ":1")
		b.Pause()
		pa.WriteTo([]byte("x"), &net.UDPAddr{IP: b.Addr().AsSlice(), Port: 1}) //nolint:errcheck // checked by the read
		w.At(time.Second, b.Resume)
		if _, _, err := pb.ReadFrom(make([]byte, 9)); err != nil || w.Elapsed() < time.Second {
			w.Errorf("got error %v after %v, want the datagram after the pause of 1 s", err, w.Elapsed())
		}
	})
}

func TestPartitions(t *testing.T) {
	reaches := func(w *netsim.World, from, to *netsim.Host) bool {
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err := from.Stack().Ping(ctx, to.Addr(), 8)
		return err == nil
	}
	for _, c := range []struct {
		name string
		cut  func(w *netsim.World, a, b, c *netsim.Host)
		want [3]bool // a reaches b, a reaches c, b reaches c; a ping needs both directions
	}{
		{"none", func(*netsim.World, *netsim.Host, *netsim.Host, *netsim.Host) {}, [3]bool{true, true, true}},
		{"two hosts", func(w *netsim.World, a, b, _ *netsim.Host) { w.Partition(a, b) }, [3]bool{false, true, true}},
		{"one against two", func(w *netsim.World, a, b, c *netsim.Host) { w.Partition(a, netsim.Group{b, c}) }, [3]bool{false, false, true}},
		{"a group against itself", func(w *netsim.World, a, b, c *netsim.Host) {
			w.Partition(netsim.Group{a, b}, netsim.Group{a, b})
		}, [3]bool{false, true, true}},
		{"one way", func(w *netsim.World, a, b, _ *netsim.Host) { w.PartitionOneWay(a, b) }, [3]bool{false, true, true}},
		{"healed", func(w *netsim.World, a, b, _ *netsim.Host) { w.Partition(a, b); w.Heal() }, [3]bool{true, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			once(t, func(w *netsim.World) {
				a, b, d := w.Host("a"), w.Host("b"), w.Host("c")
				w.Join(netsim.Path{Delay: time.Millisecond}, a, b, d)
				c.cut(w, a, b, d)
				if got := [3]bool{reaches(w, a, b), reaches(w, a, d), reaches(w, b, d)}; got != c.want {
					w.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestNamesAreThoseOfTheHosts(t *testing.T) {
	once(t, func(w *netsim.World) {
		w.DualStack()
		a, b := pair(w, netsim.Path{})
		b.Start(echo)
		for _, c := range []struct{ network, address string }{
			{"tcp", "b:7"}, {"tcp", "B.:7"}, {"tcp4", "b:7"}, {"tcp6", "b:7"}, {"tcp", net.JoinHostPort(b.Addr().String(), "7")},
		} {
			conn, err := a.Dial(c.network, c.address)
			if err != nil {
				w.Errorf("%s %s: %v", c.network, c.address, err)
				continue
			}
			conn.Close()
		}
		var dns *net.DNSError
		if _, err := a.Dial("tcp", "c:7"); !errors.As(err, &dns) || !dns.IsNotFound {
			w.Errorf("an unknown name: got error %v, want a DNS error that it is not found", err)
		}
		addrs, err := a.LookupHost(w.Context(), "b")
		if len(addrs) != 2 || err != nil {
			w.Errorf("LookupHost: got %v and error %v, want an address of each family", addrs, err)
		}
	})
}

// A mapping that has expired hides the client: the server sends into the void.
func TestANATForgetsAnIdleConnection(t *testing.T) {
	for _, c := range []struct {
		name  string
		idle  time.Duration
		comes bool
	}{{"before the timeout", 4 * time.Minute, true}, {"after the timeout", 6 * time.Minute, false}} {
		t.Run(c.name, func(t *testing.T) {
			once(t, func(w *netsim.World) {
				server, home := w.Host("server"), w.NAT("home", netsim.NATConfig{TCPTimeout: 5 * time.Minute})
				laptop := home.Host("laptop")
				w.Link(server, home, netsim.Path{Delay: 10 * time.Millisecond})
				w.Link(home, laptop, netsim.Path{Delay: time.Millisecond})
				server.Start(func(h *netsim.Host) error { return pushes(h, laptop, c.idle) })
				conn, err := laptop.Dial("tcp", "server:7")
				if err != nil {
					w.Fatal(err)
				}
				defer conn.Close()
				conn.(*tcpip.Conn).SetKeepAlive(false) //nolint:errcheck // it is open
				conn.SetReadDeadline(time.Now().Add(c.idle + time.Minute))
				_, err = conn.Read(make([]byte, 1))
				if comes := err == nil; comes != c.comes {
					w.Errorf("the push has come: %v (error %v), want %v", comes, err, c.comes)
				}
			})
		})
	}
}

// pushes accepts a connection and sends a byte after a time. The client must appear under another
// address than its own.
func pushes(h, client *netsim.Host, idle time.Duration) error {
	l, err := h.Listen("tcp", ":7")
	if err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	c.(*tcpip.Conn).SetKeepAlive(false) //nolint:errcheck // it is open
	if from := netip.MustParseAddrPort(c.RemoteAddr().String()).Addr(); from == client.Addr() {
		return fmt.Errorf("the server sees %v, want the address of the NAT", from)
	}
	time.Sleep(idle)
	c.Write([]byte("x")) //nolint:errcheck // the client notices
	<-h.Context().Done()
	return c.Close()
}

func TestClocks(t *testing.T) {
	once(t, func(w *netsim.World) {
		a, b := pair(w, netsim.Path{})
		b.SetClock(-time.Hour, 0.5)
		time.Sleep(10 * time.Second)
		if got, want := b.Now().Sub(a.Now()), -time.Hour+5*time.Second; got != want {
			w.Errorf("the clock of b is %v ahead, want %v", got, want)
		}
	})
}

// Checksums find corrupted packets: all bytes arrive as they were sent.
func TestCorruptionIsFound(t *testing.T) {
	netsim.Run(t, netsim.Seeds(5), func(w *netsim.World) {
		a, b := pair(w, netsim.Path{Delay: time.Millisecond, Corrupt: 0.05, Duplicate: 0.05, Reorder: 0.1})
		b.Start(echo)
		c, err := a.Dial("tcp", "b:7")
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
		go c.Write(sent) //nolint:errcheck // the read notices
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
			w.Errorf("got error %v and equal bytes: %v, want the bytes as sent", err, bytes.Equal(got, sent))
		}
	})
}
