package tcp

import (
	"time"

	"weir/wire"
)

// rack is RFC 8985's state: what was delivered of what was sent last, and how much the path
// reorders. Section numbers are of that RFC.
type rack struct {
	at        Time          // when the piece was sent that was sent last of those delivered
	end       wire.Seq      // of it
	rtt       time.Duration // of it
	fack      wire.Seq      // the greatest end delivered
	reordered bool          // the path reorders
	// of the reordering window, in quarters of the shortest round trip; 0 is 1
	mult    int
	persist int      // recoveries until mult is 1 again
	round   wire.Seq // a duplicate was told of in the round that ends here
	inRound bool
}

const rackPersist = 16

// delivered takes a piece that was delivered for the first time (6.2, steps 2 and 3). Echoed says
// whether what is known of timestamps lets that be an answer to the last time that it was sent.
func (r *rack) delivered(s *sent, now Time, e *estimator, echoed func(*sent) bool) {
	if s.end.Less(r.fack) && s.again == 0 {
		r.reordered = true
	}
	r.fack = s.end.Later(r.fack)
	rtt := now.Sub(s.at)
	if s.again > 0 && (rtt < e.least.value() || !echoed(s)) {
		return // it was delivered as it was sent before
	}
	r.rtt = rtt
	if after(s.at, s.end, r.at, r.end) {
		r.at, r.end = s.at, s.end
	}
}

// after says whether what was sent at t up to end was sent after what was sent at u up to end2.
func after(t Time, end wire.Seq, u Time, end2 wire.Seq) bool {
	return t > u || t == u && end2.Less(end)
}

// duplicate takes a duplicate that the peer told of: something was sent again that was not lost
// (6.2, step 4).
func (r *rack) duplicate(una, next wire.Seq) {
	if r.inRound && una.Less(r.round) {
		return
	}
	r.inRound, r.round = true, next
	r.mult = max(r.mult, 1) + 1
	r.persist = rackPersist
}

// recovered ends a recovery.
func (r *rack) recovered() {
	if r.persist > 0 {
		if r.persist--; r.persist == 0 {
			r.mult = 1
		}
	}
}

// patience is how long later pieces may be delivered before an earlier one is lost (6.2, step 4).
func (r *rack) patience(e *estimator, impatient bool) time.Duration {
	if !r.reordered && impatient {
		return 0
	}
	return min(time.Duration(max(r.mult, 1))*e.least.value()/4, e.srtt)
}

// detect marks what is lost (6.2, step 5), and says how long to wait for what may yet be; 0 when
// there is none. By then all is overdue that was sent before what was delivered.
func (r *rack) detect(f *flight, patience time.Duration, now Time) (wait time.Duration, any bool) {
	if r.at == 0 {
		return 0, false
	}
	any, soon := f.loseOverdue(func(at Time, end wire.Seq) verdict {
		switch {
		case !after(r.at, r.end, at, end):
			return sentLater
		case at.Add(r.rtt+patience) > now:
			return early
		}
		return overdue
	})
	if soon {
		wait = r.at.Add(r.rtt + patience).Sub(now)
	}
	return wait, any
}
