package tcpip

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// dialFunc connects to one address.
type dialFunc func(context.Context, netip.AddrPort) (net.Conn, error)

// attemptDelay is how long an attempt may take before the next address is tried beside it (RFC
// 8305, section 5).
const attemptDelay = 250 * time.Millisecond

// dialResult is the result of an attempt: a connection or an error.
type dialResult struct {
	conn net.Conn
	err  error
}

// dialFastest tries addresses, and returns the first connection (Happy Eyeballs, RFC 8305). An
// attempt begins when the one before it has failed or has taken attemptDelay. The families
// alternate, so that one that does not work delays the other once only. The error is the
// first that occurs.
func dialFastest(ctx context.Context, network string, dial dialFunc, remotes []netip.AddrPort) (net.Conn, error) {
	if len(remotes) == 1 {
		return dialOne(ctx, network, dial, remotes[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &dialRace{results: make(chan dialResult, len(remotes)), remotes: alternate(remotes)}
	r.next(ctx, network, dial)
	timer := time.NewTimer(attemptDelay)
	defer timer.Stop()
	var first error
	for r.running > 0 {
		select {
		case <-timer.C:
		case got := <-r.results:
			r.running--
			if got.err == nil {
				cancel()
				go r.closeRest(r.running) // until the other attempts have ended: they are cancelled
				return got.conn, nil
			}
			if first == nil {
				first = got.err
			}
		}
		if len(r.remotes) > 0 && ctx.Err() == nil {
			r.next(ctx, network, dial)
			timer.Reset(attemptDelay)
		}
	}
	return nil, first
}

// dialRace is a number of attempts to connect, of which one is wanted.
type dialRace struct {
	results chan dialResult  // the attempts -> dialFastest; capacity: one for each; never closed
	remotes []netip.AddrPort // not tried yet
	running int
}

// next begins the attempt to connect to the next address.
func (r *dialRace) next(ctx context.Context, network string, dial dialFunc) {
	remote := r.remotes[0]
	r.remotes = r.remotes[1:]
	r.running++
	go func() { // until the attempt has ended; ctx ends it
		c, err := dialOne(ctx, network, dial, remote)
		r.results <- dialResult{c, err}
	}()
}

// closeRest closes the connections of the attempts that were not wanted.
func (r *dialRace) closeRest(running int) {
	for range running {
		if got := <-r.results; got.err == nil {
			got.conn.Close() //nolint:errcheck // it is not wanted
		}
	}
}

// dialOne tries an address.
func dialOne(ctx context.Context, network string, dial dialFunc, remote netip.AddrPort) (net.Conn, error) {
	err := contextError(ctx.Err())
	if err == nil {
		var c net.Conn
		if c, err = dial(ctx, remote); err == nil {
			return c, nil
		}
	}
	return nil, &net.OpError{Op: "dial", Net: network, Addr: addrOf(network, remote), Err: err}
}

// alternate puts addresses of both families in turn (RFC 8305, section 4), the first one's family
// first, and otherwise in their order.
func alternate(all []netip.AddrPort) (turns []netip.AddrPort) {
	var same, other []netip.AddrPort
	for _, a := range all {
		if a.Addr().Is4() == all[0].Addr().Is4() {
			same = append(same, a)
		} else {
			other = append(other, a)
		}
	}
	for len(same) > 0 || len(other) > 0 {
		if len(same) > 0 {
			turns, same = append(turns, same[0]), same[1:]
		}
		if len(other) > 0 {
			turns, other = append(turns, other[0]), other[1:]
		}
	}
	return turns
}
