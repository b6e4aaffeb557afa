package tcp

import "time"

// MTUProbing is when a connection probes for the path MTU itself (packetization layer path MTU
// discovery, RFC 4821). It needs no ICMP messages, which many firewalls drop.
type MTUProbing uint8

// When a connection probes for the path MTU, as Linux's tcp_mtu_probing.
const (
	// ProbeOnBlackHole probes only after large segments have timed out repeatedly while no Packet
	// Too Big has arrived: it lowers the MSS to 1,024 at most, and searches upward from there.
	ProbeOnBlackHole MTUProbing = iota
	// ProbeAlways starts each connection with an MSS of at most 1,024, and searches from there.
	ProbeAlways
	ProbeNever // believe only the link and ICMP
)

// The constants of the search. Sizes are those of an MSS: without IP and TCP headers.
const (
	// baseMSS is the first search_low: most paths take it (RFC 4821, section 7.2; Linux's
	// tcp_base_mss).
	baseMSS = 1024
	// minSearchMSS is the least to which repeated black holes lower the MSS. It fits the smallest
	// path MTU that the stack accepts from ICMP.
	minSearchMSS = 512
	// minSearchRange is the range that is not worth another probe (Linux's tcp_probe_threshold)
	minSearchRange = 8
	// maxMTUProbes is how many probes of one size must be lost: MAX_PROBES (RFC 8899, section
	// 5.1.2). One alone may be lost for another reason.
	maxMTUProbes = 3
	// searchInterval is how long a result is kept: then the path may have changed (RFC 4821,
	// section 7.3; Linux's tcp_probe_interval)
	searchInterval = 10 * time.Minute
)

// mtuSearch is a connection's search for the path MTU (RFC 4821, section 7). It starts at the
// largest size, because most paths take that, and continues with a binary search.
type mtuSearch struct {
	low       int  // search_low: the path takes it; it is the connection's MSS
	high      int  // the largest size worth a probe
	limit     int  // the largest size that the link, the peer and ICMP allow
	halving   bool // high has failed: probe the middle of the range
	lost      int  // lost probes of the current size in a row
	restartAt Time // when the search starts again; 0: it is not complete

	probe probe
}

// next is the size of the next probe; 0: none is due.
func (m *mtuSearch) next(now Time) int {
	switch {
	case m.probe.size != 0:
		return 0
	case m.restartAt != 0 && now < m.restartAt:
		return 0
	case m.restartAt != 0:
		m.restart(m.limit, false, now)
	}
	switch {
	case m.restartAt != 0:
		return 0
	case m.halving:
		return (m.low + m.high + 1) / 2
	}
	return m.high
}

// restart starts a search up to limit. failed says that limit itself is known to be too large.
func (m *mtuSearch) restart(limit int, failed bool, now Time) {
	m.limit, m.high, m.lost, m.restartAt, m.halving = limit, limit, 0, 0, failed
	m.low = min(m.low, limit)
	if failed {
		m.high--
	}
	m.completeIfNarrow(now)
}

// succeed records that a probe was delivered.
func (m *mtuSearch) succeed(now Time) {
	m.low, m.lost, m.probe = m.probe.size, 0, probe{}
	m.completeIfNarrow(now)
}

// fail records that a probe was lost.
func (m *mtuSearch) fail(now Time) {
	if m.lost++; m.lost >= maxMTUProbes {
		m.high, m.halving, m.lost = m.probe.size-1, true, 0
	}
	m.probe = probe{}
	m.completeIfNarrow(now)
}

// completeIfNarrow completes the search if the range is too small for a probe.
func (m *mtuSearch) completeIfNarrow(now Time) {
	if m.high-m.low < minSearchRange {
		m.restartAt = now.Add(searchInterval)
	}
}
