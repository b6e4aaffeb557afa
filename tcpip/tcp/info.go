package tcp

import "time"

// Info is a snapshot of a connection for diagnosis. The names in parentheses are those of Linux's
// tcp_info, which counts the same in segments where this counts in bytes.
type Info struct {
	State            State
	Unread           int           // bytes received in order and not read by the application
	OutOfOrder       int           // bytes received beyond a gap
	Unsent           int           // bytes written and never sent (notsent_bytes)
	InFlight         int           // bytes sent and not acknowledged (unacked)
	Sacked           int           // of InFlight: the peer has them, beyond a gap (sacked)
	Lost             int           // of InFlight: presumed lost (lost)
	RTT              time.Duration // smoothed round-trip time (RFC 6298); 0: not measured (rtt)
	RTTVar           time.Duration // its variation (rttvar)
	MinRTT           time.Duration // minimum of the last minutes; 0: not measured (min_rtt)
	RTO              time.Duration // retransmission timeout after backoff (rto)
	Backoff          int           // consecutive timeouts (backoff)
	CongestionWindow int           // bytes (snd_cwnd)
	// slow start threshold in bytes; 0: none yet (snd_ssthresh)
	SlowStartThreshold int
	SendWindow         int // window that the peer advertised, in bytes (snd_wnd)
	ReceiveWindow      int // window advertised to the peer, in bytes (rcv_wnd)
	MSS                int // payload of a full segment, in bytes (snd_mss)
	PacingRate         int // bytes a second; 0: not paced (pacing_rate)
	// bytes that the peer has acknowledged; a FIN counts as one (bytes_acked)
	Acked         uint64
	Received      uint64 // bytes received in order (bytes_received)
	Retransmitted uint64 // segments (total_retrans)
	// bytes of data in the SYN, of either end, that the SYN,ACK has acknowledged: Fast Open, RFC
	// 7413; 0: none (TCPI_OPT_SYN_DATA)
	SYNData int

	// time since data was last sent and received, and since any segment arrived; 0: never
	// (last_data_sent, last_data_recv, last_ack_recv)
	SinceSent, SinceReceived, SinceSegment time.Duration
}

// Info returns a snapshot of the connection.
func (c *Conn) Info(now Time) Info {
	i := Info{
		State: c.state, Unread: c.recvBuf.length, RTT: c.estimator.srtt, RTTVar: c.estimator.rttvar, MinRTT: c.estimator.minRTT.value(), RTO: c.currentRTO(), Backoff: c.rtoBackoff,
		CongestionWindow: c.cwnd.size, SendWindow: c.sndWnd, MSS: c.maxPayload(), InFlight: max(0, c.flight.totalBytes), Sacked: c.flight.sackedBytes, Lost: c.flight.lostBytes,
		Acked: c.ackedTotal, Received: c.receivedTotal, Retransmitted: c.retransmittedSegments, SYNData: c.synDataAcked(),
		SinceSent: since(now, c.lastSentAt), SinceReceived: since(now, c.lastDataAt), SinceSegment: since(now, c.lastReceivedAt),
	}
	if c.cwnd.ssthresh != unsetSsthresh {
		i.SlowStartThreshold = c.cwnd.ssthresh
	}
	if c.cwnd.size > 0 && c.isPaced() {
		i.PacingRate = int(time.Second / max(c.pacingInterval(1<<20), 1) << 20)
	}
	for _, b := range c.outOfOrder.blocks {
		i.OutOfOrder += b.End.Sub(b.First)
	}
	if c.state.synchronized() {
		i.Unsent, i.ReceiveWindow = c.unsentBytes(), max(0, c.rcvWndEdge.Sub(c.rcvNxt))
	} else {
		i.Unsent = c.sendBuf.length
	}
	if c.state == Closed {
		i.InFlight = c.unacknowledged // those that were never sent, too
	}
	return i
}

// unacknowledgedBytes returns how many bytes were written and not acknowledged, sent or not. The
// number stays when the connection ends, though the bytes are freed then.
func (c *Conn) unacknowledgedBytes() int {
	switch {
	case c.state == Closed:
		return c.unacknowledged
	case c.state.synchronized():
		return max(0, c.flight.totalBytes) + c.unsentBytes()
	}
	return max(0, c.flight.totalBytes) + c.sendBuf.length
}

// since returns how long ago a time was; 0 if it never was.
func since(now, at Time) time.Duration {
	if at == 0 {
		return 0
	}
	return max(now.Sub(at), 1)
}

// RetransmittedSegments counts retransmitted segments of the wire: a superframe counts as many as
// the device splits it into.
func (c *Conn) RetransmittedSegments() uint64 { return c.retransmittedSegments }
