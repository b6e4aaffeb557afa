package tcp

import "testing"

// Proportional rate reduction (RFC 6937) does not overflow for a large window where int has 32
// bits.
func TestPRRDoesNotOverflowForALargeWindow(t *testing.T) {
	const window, mss = 2 << 20, 1460
	cfg := Config{}.WithDefaults()
	c := newConn(&cfg, ourISS, 0)
	c.cwnd = newCongestionWindow(mss)
	c.cwnd.ssthresh = window / 2
	c.flight.totalBytes = window
	c.prr = prr{delivered: window/2 - mss, out: window/4 - mss, recoverFS: window}
	c.applyPRR(&delivery{deliveredBytes: mss}, false)
	if allowed := c.cwnd.size - window; allowed != mss {
		t.Errorf("PRR allows %d bytes, want one segment (%d)", allowed, mss)
	}
}
