package dhcp

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"weir/wire"
)

// Intervals of RFC 2131.
const (
	// retransmissions after 4, 8, 16, 32, and then 64 s, each one second more or less (section 4.1)
	firstInterval = 4 * time.Second
	lastInterval  = 64 * time.Second
	jitter        = time.Second
	// requestTries is how often a DHCPREQUEST is sent before the client starts again (section 3.1,
	// 5).
	requestTries = 5
	// minRetransmit is the shortest interval of requests to renew a lease (section 4.4.5).
	minRetransmit = time.Minute
	// declineWait is the delay after a DHCPDECLINE (section 3.1, 5).
	declineWait = 10 * time.Second
	startDelay  = time.Second // longest delay of the first message
)

// machineConfig is what a machine needs to know. It does not change.
type machineConfig struct {
	mac      wire.MAC
	clientID []byte
	hostName string
	mtu      int
	rand     *rand.Rand
}

// actions are carried out by the driver during a call of the machine.
type actions interface {
	// send sends a message to a server, or to all.
	send(m *dhcpv4.DHCPv4, to netip.Addr)
	// probe finds out whether another host has the address of a lease; probed follows.
	probe(l Lease)
	// use has the stack use a lease, or what a renewed lease has.
	use(l Lease, renewed bool)
	// lose has the stack forget the lease.
	lose(l Lease, why Reason)
}

// machine is the state machine of a client. It has one owner at a time.
type machine struct {
	cfg   machineConfig
	state State
	at    time.Time // when to call tick; zero: only after another call

	// the exchange of messages, all with one transaction ID
	xid        dhcpv4.TransactionID
	exchangeAt time.Time // when it began
	secs       uint16    // seconds from its beginning to the message
	tries      int       // messages sent in this state

	wanted   netip.Addr // address to ask for; zero: any
	lease    Lease      // that is offered, probed or used
	failures int        // refusals and conflicts since the last lease
	// server whose last offer came to nothing; the first offers that it makes then are ignored
	failed netip.Addr
	stats  Stats
}

// start starts the client, with an earlier lease if that has not expired (RFC 2131, section 3.2).
func (m *machine) start(last *Lease, now time.Time, do actions) {
	if last != nil && last.Addr.IsValid() {
		m.wanted = last.Addr.Addr()
		if last.ExpiresAt.IsZero() || now.Before(last.ExpiresAt) {
			m.enter(Rebooting, now)
			m.sendRequest(now, do)
			return
		}
	}
	m.restart(now, time.Duration(m.cfg.rand.Int64N(int64(startDelay))))
}

// restart has the client begin anew after a delay.
func (m *machine) restart(now time.Time, delay time.Duration) {
	m.state, m.at = Init, now.Add(delay)
}

// backOff has the client begin anew after a delay that grows with the number of failures.
func (m *machine) backOff(now time.Time, least time.Duration) {
	var delay time.Duration
	if m.failures > 0 {
		delay = m.interval(m.failures - 1)
	}
	m.failures++
	m.wanted = netip.Addr{}
	m.restart(now, max(delay, least))
}

// interval returns the time to the retransmission after so many others (RFC 2131, section 4.1).
func (m *machine) interval(after int) time.Duration {
	base := min(firstInterval<<min(after, 4), lastInterval)
	return base - jitter + time.Duration(m.cfg.rand.Int64N(int64(2*jitter)))
}

// newExchange begins an exchange with another transaction ID.
func (m *machine) newExchange(now time.Time) {
	binary.BigEndian.PutUint32(m.xid[:], m.cfg.rand.Uint32())
	m.exchangeAt, m.secs, m.tries = now, 0, 0
}

// enter enters a state that begins an exchange.
func (m *machine) enter(s State, now time.Time) {
	m.state = s
	m.newExchange(now)
}

// tick handles the deadline.
func (m *machine) tick(now time.Time, do actions) {
	if m.at.IsZero() || now.Before(m.at) {
		return
	}
	switch m.state {
	case Init:
		m.enter(Selecting, now)
		m.sendDiscover(now, do)
	case Selecting:
		m.sendDiscover(now, do)
	case Requesting, Rebooting:
		if m.tries >= requestTries {
			if m.state == Requesting {
				m.failed = m.lease.Server
			}
			m.restart(now, 0)
			m.tick(now, do)
			return
		}
		m.sendRequest(now, do)
	case Bound, Renewing, Rebinding:
		m.tickLease(now, do)
	}
}

// tickLease handles the deadlines of a lease (RFC 2131, section 4.4.5).
func (m *machine) tickLease(now time.Time, do actions) {
	switch {
	case !now.Before(m.lease.ExpiresAt):
		do.lose(m.lease, Expired)
		m.wanted = m.lease.Addr.Addr()
		m.restart(now, 0)
		m.tick(now, do)
		return
	case m.state != Rebinding && !now.Before(m.lease.RebindAt):
		m.enter(Rebinding, now)
	case m.state == Bound:
		m.enter(Renewing, now)
	}
	m.sendRequest(now, do)
}

// sendDiscover sends a DHCPDISCOVER.
func (m *machine) sendDiscover(now time.Time, do actions) {
	m.at = now.Add(m.interval(m.tries))
	m.secs = seconds(now.Sub(m.exchangeAt))
	m.transmit(m.discover(), broadcast, do)
}

// sendRequest sends a DHCPREQUEST. One for an offer has the seconds of the DHCPDISCOVER, so that
// relays treat both the same (RFC 2131, section 4.4.1).
func (m *machine) sendRequest(now time.Time, do actions) {
	to := broadcast
	switch m.state {
	case Renewing:
		to = m.lease.Server
		m.at = m.nextRenewal(now, m.lease.RebindAt)
	case Rebinding:
		m.at = m.nextRenewal(now, m.lease.ExpiresAt)
	default:
		m.at = now.Add(m.interval(m.tries))
	}
	if m.state != Requesting {
		m.secs = seconds(now.Sub(m.exchangeAt))
	}
	m.transmit(m.request(), to, do)
}

// nextRenewal returns when to ask again: after half of the time that is left, or a minute, but at
// the deadline at the latest (RFC 2131, section 4.4.5).
func (m *machine) nextRenewal(now, deadline time.Time) time.Time {
	at := now.Add(max(deadline.Sub(now)/2, minRetransmit))
	if at.After(deadline) {
		return deadline
	}
	return at
}

// transmit sends a message.
func (m *machine) transmit(d *dhcpv4.DHCPv4, to netip.Addr, do actions) {
	m.tries++
	m.stats.Sent++
	do.send(d, to)
}

// seconds returns a duration for the secs field.
func seconds(d time.Duration) uint16 { return uint16(min(d/time.Second, 0xffff)) }

// probed reports the result of probing for the address: it is free, it is in use, or neither is
// known because probing failed.
func (m *machine) probed(inUse bool, err error, now time.Time, do actions) {
	switch {
	case m.state != Probing:
	case inUse:
		m.transmit(m.decline(), broadcast, do)
		m.backOff(now, declineWait)
	case err != nil:
		m.backOff(now, declineWait)
	default:
		m.bind(false, do)
	}
}

// addrLost reports that the stack has lost the address to another host.
func (m *machine) addrLost(now time.Time, do actions) {
	if m.state.hasLease() {
		do.lose(m.lease, Conflict)
		m.transmit(m.decline(), broadcast, do)
		m.backOff(now, declineWait)
	}
}

// bind uses the lease.
func (m *machine) bind(renewed bool, do actions) {
	m.state, m.at, m.failures = Bound, m.lease.RenewAt, 0
	m.wanted, m.failed = m.lease.Addr.Addr(), netip.Addr{}
	do.use(m.lease, renewed)
}

// stop ends the client, and gives the address back if release is set (RFC 2131, section 4.4.6).
func (m *machine) stop(release bool, do actions) {
	if m.state.hasLease() {
		if release {
			m.transmit(m.release(), m.lease.Server, do)
		}
		do.lose(m.lease, Released)
	}
	m.state, m.at = Stopped, time.Time{}
}
