package tcp

import (
	"time"

	"weir/wire"
)

// rack is the state of RACK (RFC 8985): the latest transmission that was delivered, and how much
// the path reorders. Section numbers are of that RFC.
type rack struct {
	xmitTS         Time          // RACK.xmit_ts: when the latest delivered piece was sent
	endSeq         wire.Seq      // RACK.end_seq: its end
	rtt            time.Duration // RACK.rtt: its round-trip time
	fack           wire.Seq      // RACK.fack: the highest end delivered
	reorderingSeen bool          // RACK.reordering_seen
	reoWndMult     int           // RACK.reo_wnd_mult: quarters of the minimum RTT; 0 counts as 1
	reoWndPersist  int           // recoveries until reoWndMult is 1 again
	dsackRound     wire.Seq      // RACK.dsack_round: end of the round of the last DSACK
	dsackRoundSet  bool
}

// reoWndPersistRecoveries is for how many recoveries a DSACK widens the reordering window
// (section 6.2, step 4).
const reoWndPersistRecoveries = 16

// onDelivered processes a newly delivered piece (section 6.2, steps 2 and 3). echoed reports
// whether its last transmission, by the echoed timestamp, may have been acknowledged.
func (r *rack) onDelivered(s *piece, now Time, e *estimator, echoed func(*piece) bool) {
	if s.end.Less(r.fack) && s.retransmits == 0 {
		r.reorderingSeen = true
	}
	r.fack = s.end.Max(r.fack)
	rtt := now.Sub(s.sentAt)
	if s.retransmits > 0 && (rtt < e.minRTT.value() || !echoed(s)) {
		return // an earlier transmission was delivered
	}
	r.rtt = rtt
	if sentAfter(s.sentAt, s.end, r.xmitTS, r.endSeq) {
		r.xmitTS, r.endSeq = s.sentAt, s.end
	}
}

// sentAfter reports whether a piece sent at t that ends at end was sent after one sent at u that
// ends at end2.
func sentAfter(t Time, end wire.Seq, u Time, end2 wire.Seq) bool {
	return t > u || t == u && end2.Less(end)
}

// onDSACK widens the reordering window, at most once a round: a retransmission was spurious
// (section 6.2, step 4).
func (r *rack) onDSACK(una, next wire.Seq) {
	if r.dsackRoundSet && una.Less(r.dsackRound) {
		return
	}
	r.dsackRoundSet, r.dsackRound = true, next
	r.reoWndMult = max(r.reoWndMult, 1) + 1
	r.reoWndPersist = reoWndPersistRecoveries
}

// onRecoveryEnd counts a recovery; after reoWndPersistRecoveries without a DSACK the window shrinks
// again.
func (r *rack) onRecoveryEnd() {
	if r.reoWndPersist > 0 {
		if r.reoWndPersist--; r.reoWndPersist == 0 {
			r.reoWndMult = 1
		}
	}
}

// reoWnd is the reordering window: how long an earlier piece may arrive after a later one (section
// 6.2, step 4). It is 0 without reordering if noDelay is set, in recovery or after three SACKed
// segments.
func (r *rack) reoWnd(e *estimator, noDelay bool) time.Duration {
	if !r.reorderingSeen && noDelay {
		return 0
	}
	return min(time.Duration(max(r.reoWndMult, 1))*e.minRTT.value()/4, e.srtt)
}

// detect marks lost pieces (section 6.2, step 5). wait is how long until it must be called again:
// by then every piece sent before the latest delivered one is lost. It is 0 if no piece may still
// become lost.
func (r *rack) detect(f *flight, reoWnd time.Duration, now Time) (wait time.Duration, anyLost bool) {
	if r.xmitTS == 0 {
		return 0, false
	}
	anyLost, pending := f.markOverdueLost(func(sentAt Time, end wire.Seq) verdict {
		switch {
		case !sentAfter(r.xmitTS, r.endSeq, sentAt, end):
			return undecided
		case sentAt.Add(r.rtt+reoWnd) > now:
			return mayArrive
		}
		return overdue
	})
	if pending {
		wait = r.xmitTS.Add(r.rtt + reoWnd).Sub(now)
	}
	return wait, anyLost
}
