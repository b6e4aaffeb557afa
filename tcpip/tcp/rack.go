package tcp

import (
	"time"

	"weir/wire"
)

// rack is RFC 8985's state: what was delivered of what was sent last, and how much the path
// reorders. Section numbers are of that RFC.
type rack struct {
	xmitTS         Time          // when the piece was sent that was sent last of those delivered
	endSeq         wire.Seq      // of it
	rtt            time.Duration // of it
	fack           wire.Seq      // the greatest end delivered
	reorderingSeen bool          // the path reorders
	// of the reordering window, in quarters of the shortest round trip; 0 is 1
	reoWndMult    int
	reoWndPersist int      // recoveries until mult is 1 again
	dsackRound    wire.Seq // a duplicate was told of in the round that ends here
	dsackRoundSet bool
}

const reoWndPersistRecoveries = 16

// delivered takes a piece that was delivered for the first time (6.2, steps 2 and 3). Echoed says
// whether what is known of timestamps lets that be an answer to the last time that it was sent.
func (r *rack) onDelivered(s *piece, now Time, e *estimator, echoed func(*piece) bool) {
	if s.end.Less(r.fack) && s.retransmits == 0 {
		r.reorderingSeen = true
	}
	r.fack = s.end.Max(r.fack)
	rtt := now.Sub(s.sentAt)
	if s.retransmits > 0 && (rtt < e.minRTT.value() || !echoed(s)) {
		return // it was delivered as it was sent before
	}
	r.rtt = rtt
	if sentAfter(s.sentAt, s.end, r.xmitTS, r.endSeq) {
		r.xmitTS, r.endSeq = s.sentAt, s.end
	}
}

// after says whether what was sent at t up to end was sent after what was sent at u up to end2.
func sentAfter(t Time, end wire.Seq, u Time, end2 wire.Seq) bool {
	return t > u || t == u && end2.Less(end)
}

// duplicate takes a duplicate that the peer told of: something was sent again that was not lost
// (6.2, step 4).
func (r *rack) onDSACK(una, next wire.Seq) {
	if r.dsackRoundSet && una.Less(r.dsackRound) {
		return
	}
	r.dsackRoundSet, r.dsackRound = true, next
	r.reoWndMult = max(r.reoWndMult, 1) + 1
	r.reoWndPersist = reoWndPersistRecoveries
}

// recovered ends a recovery.
func (r *rack) onRecoveryEnd() {
	if r.reoWndPersist > 0 {
		if r.reoWndPersist--; r.reoWndPersist == 0 {
			r.reoWndMult = 1
		}
	}
}

// patience is how long later pieces may be delivered before an earlier one is lost (6.2, step 4).
func (r *rack) reoWnd(e *estimator, impatient bool) time.Duration {
	if !r.reorderingSeen && impatient {
		return 0
	}
	return min(time.Duration(max(r.reoWndMult, 1))*e.minRTT.value()/4, e.srtt)
}

// detect marks what is lost (6.2, step 5), and says how long to wait for what may yet be; 0 when
// there is none. By then all is overdue that was sent before what was delivered.
func (r *rack) detect(f *flight, patience time.Duration, now Time) (wait time.Duration, any bool) {
	if r.xmitTS == 0 {
		return 0, false
	}
	any, soon := f.markOverdueLost(func(at Time, end wire.Seq) verdict {
		switch {
		case !sentAfter(r.xmitTS, r.endSeq, at, end):
			return undecided
		case at.Add(r.rtt+patience) > now:
			return mayArrive
		}
		return overdue
	})
	if soon {
		wait = r.xmitTS.Add(r.rtt + patience).Sub(now)
	}
	return wait, any
}
