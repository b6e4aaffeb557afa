package tcp

import "testing"

// What may be sent in a recovery is in proportion to what has arrived (RFC 6937), also of a large
// window where int has 32 bits.
func TestAReductionOfALargeWindow(t *testing.T) {
	const window, mss = 2 << 20, 1460
	cfg := Config{}.WithDefaults()
	c := newConn(&cfg, ourISS, 0)
	c.cwnd = newCongestionWindow(mss)
	c.cwnd.ssthresh = window / 2
	c.flight.totalBytes = window
	c.prr = prr{delivered: window/2 - mss, out: window/4 - mss, recoverFS: window}
	c.applyPRR(&delivery{deliveredBytes: mss}, false)
	if allowed := c.cwnd.size - window; allowed != mss {
		t.Errorf("half of the window has arrived, and a quarter was sent but for one segment: %d bytes may go", allowed)
	}
}
