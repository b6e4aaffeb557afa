package tcpip

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"weir/tcpip/tcp"
	"weir/wire"
)

// fastOpenCache has what the stack has learnt of servers with Fast Open (RFC 7413, section 4.1.3).
type fastOpenCache struct {
	mu      sync.Mutex // no other lock is taken under it
	entries map[fastOpenServer]*list.Element
	byUse   list.List // of *fastOpenEntry, the one that was used last first
}

// fastOpenServer identifies a server for the cache. The source address is part of it because a
// cookie is for one address, and the port because a server may have Fast Open at one port only.
type fastOpenServer struct {
	local  netip.Addr
	remote netip.AddrPort
}

// fastOpenEntry is what is known of a server.
type fastOpenEntry struct {
	server        fastOpenServer
	cookie        wire.FastOpenCookie // empty: none was granted
	mss           int                 // MSS that the server announces
	failures      int                 // negative responses in a row
	disabledUntil tcp.Time            // after a negative response; 0: there was none
}

const (
	maxFastOpenEntries = 1024 // limit of servers in the cache
	// how long Fast Open is disabled after the first negative response; each further one doubles
	// it, up to maxFastOpenDoublings times
	fastOpenPause        = time.Minute
	maxFastOpenDoublings = 10
)

// lookup returns what a SYN to a server may carry, and reports whether it may have the option of
// Fast Open at all.
func (f *fastOpenCache) lookup(server fastOpenServer, now tcp.Time) (known tcp.FastOpen, use bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[server]
	if e == nil {
		return known, true
	}
	f.byUse.MoveToFront(e)
	v := e.Value.(*fastOpenEntry)
	return tcp.FastOpen{Cookie: v.cookie, MSS: v.mss}, now >= v.disabledUntil
}

// learn stores the result of a handshake.
func (f *fastOpenCache) learn(server fastOpenServer, r tcp.FastOpenResult, now tcp.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[server]
	if e == nil {
		if r.Cookie.Length == 0 && !r.Negative {
			return
		}
		e = f.addLocked(server)
	}
	f.byUse.MoveToFront(e)
	v := e.Value.(*fastOpenEntry)
	if r.Cookie.Length > 0 {
		v.cookie, v.mss = r.Cookie, r.MSS
	}
	if !r.Negative {
		v.failures = 0
		return
	}
	v.disabledUntil = now.Add(fastOpenPause << min(v.failures, maxFastOpenDoublings))
	v.failures++
}

// addLocked adds a server, in place of the one that was not used for the longest time if the cache
// is full. The caller holds mu.
func (f *fastOpenCache) addLocked(server fastOpenServer) *list.Element {
	if f.entries == nil {
		f.entries = map[fastOpenServer]*list.Element{}
	}
	if len(f.entries) >= maxFastOpenEntries {
		last := f.byUse.Back()
		delete(f.entries, f.byUse.Remove(last).(*fastOpenEntry).server)
	}
	e := f.byUse.PushFront(&fastOpenEntry{server: server})
	f.entries[server] = e
	return e
}

// fastOpenServer returns the server of a connection that this end dials.
func (c *Conn) fastOpenServer() fastOpenServer {
	return fastOpenServer{c.key.local.Addr(), c.key.remote}
}

// dialState returns the state of a connection that this end dials, with Fast Open or without.
func (c *Conn) dialState(withFastOpen bool, iss wire.Seq, stamp uint32) *tcp.Conn {
	if withFastOpen {
		if known, use := c.s.fastOpens.lookup(c.fastOpenServer(), c.s.now()); use {
			known.MSS = c.synMSS(known.MSS)
			return tcp.DialFastOpen(c.cfg, iss, stamp, known)
		}
	}
	return tcp.Dial(c.cfg, iss, stamp)
}

// synMSS returns how much a SYN may carry, with its options: the MSS of the server, or the default
// one (RFC 9293, section 3.7.1), unless the path takes less.
func (c *Conn) synMSS(server int) int {
	remote := c.key.remote.Addr()
	if server == 0 {
		server = 536
		if remote.Is6() {
			server = wire.IPv6MinMTU - wire.IPv6Header - wire.TCPHeader
		}
	}
	mtu, _ := c.s.pathMTU(remote, c.iface)
	return min(server, mtu-ipHeaderLen(remote)-wire.TCPHeader)
}

// learnFastOpenLocked stores what the handshake has shown of the server's Fast Open. The caller
// holds mu.
func (c *Conn) learnFastOpenLocked(now tcp.Time) {
	if r, ok := c.tcp.TakeFastOpenResult(); ok {
		c.s.fastOpens.learn(c.fastOpenServer(), r, now)
	}
}
