// Package netsim tests network programs in virtual networks: hosts that crash, links that lose
// packets, partitions, NATs. Each host has a TCP/IP stack of its own (package tcpip), and time is
// virtual (testing/synctest): an hour of timeouts takes milliseconds, and a seed repeats what
// happened.
//
//	func TestOrdersAreNotLost(t *testing.T) {
//		netsim.Run(t, netsim.Seeds(100), func(w *netsim.World) {
//			server, client := w.Host("server"), w.Host("client")
//			w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond, Loss: 0.02})
//			server.Start(func(h *netsim.Host) error {
//				l, err := h.Listen("tcp", ":80")
//				if err != nil {
//					return err
//				}
//				return http.Serve(l, shop)
//			})
//			w.At(3*time.Second, func() { w.Partition(client, server) })
//			w.At(5*time.Second, w.Heal)
//			res, err := client.HTTP().Get("http://server/orders")
//			...
//		})
//	}
//
// A program under test takes its listener, its dial function and its HTTP client from its caller:
// those of a [Host] have the shapes of package net. It resolves no names by package net, which asks
// the machine's name servers, and holds no lock while it waits for time or for the network: see
// below. The fields of [Path] and [NATConfig] are in the documentation of package fabric.
//
// Hosts behind a NAT are made by it, and joined to it like others:
//
//	home := w.NAT("home", netsim.NATConfig{})
//	laptop := home.Host("laptop")
//	w.Link(home, server, netsim.Path{Delay: 20 * time.Millisecond})
//	w.Link(home, laptop, netsim.Path{Delay: time.Millisecond})
//
// A world starts at midnight UTC of 2000-01-01, and ends when the test returns: the context of the
// world and of each host is then cancelled, and the connections that are left are reset.
//
// [World.Chaos] schedules random faults. Waiting costs no real time: to test that a program
// recovers, sleep as long as it may take, then check.
//
// # A failed test
//
// [World] is a testing.TB. When the test fails in it, Run repeats the seed with fewer of the faults
// of [World.At] and [World.Chaos] until each is needed for the same failure. It writes a report
// into the folder for temporary files: a page with a sequence diagram, and a capture of each host.
// It prints how to repeat the seed: WEIR_SEED=17 go test -run '^TestOrdersAreNotLost$'.
//
// A goroutine that is left a minute after the end of the test is a failure, too: programs must end
// with [Host.Context] or with their connections. So is a world that lasts longer than an hour of
// its own time ([World.SetLimit]), or that is not over shortly before the -timeout of go test.
//
// A panic in a goroutine that the test itself has started ends the process. With
// GODEBUG=tracebacklabels=1 its text has the seed.
//
// # What a seed repeats
//
// A seed gives the same losses, delays, port and sequence numbers, and random numbers of package
// crypto. The network does not depend on the order in which the runtime runs the goroutines of an
// instant: see package fabric. Faults of [World.At] have an order, too. [Repeat] runs a seed twice
// and names the first packet that differs. A program is repeatable if its packets do not depend on
//
//   - math/rand without a seed, or the order of a map;
//   - the case that a select takes, if several are ready;
//   - the order of goroutines that are ready at the same instant, as when two of them write to one
//     connection;
//   - the machine: its files and its speed.
//
// While a world runs, the program has one processor: goroutines that are ready then run one after
// the other. That repeats most runs of programs whose goroutines race, such as HTTP/2, but not all.
//
// # Limitations
//
// All hosts have one clock: a paused host's timers go on, and [Host.SetClock] is seen by Host.Now
// only. No goroutine can be stopped from outside: a crash takes its network, its disk and its
// context. Computing takes no virtual time. Time passes only while every goroutine of the world
// waits for time, a packet or a channel (testing/synctest): not while one waits for a real socket,
// or for a sync.Mutex whose holder waits for time. The latter is a failure that names the waiters.
// The HTTP/2 client of net/http holds a lock while it writes: if large requests share a connection,
// give its host a send buffer that never fills (SendBuffer of tcp.Config, by HostConfig.Configure).
// Packets are bare IP: there is no ARP. Tests are not parallel, since
// package crypto has one source of random numbers.
package netsim
