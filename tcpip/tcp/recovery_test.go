package tcp

import "testing"

// What may be sent in a recovery is in proportion to what has arrived (RFC 6937), also of a large
// window where int has 32 bits.
func TestAReductionOfALargeWindow(t *testing.T) {
	const window, mss = 2 << 20, 1460
	cfg := Config{}.WithDefaults()
	c := newConn(&cfg, ourISS, 0)
	c.cwnd = newWindow(mss)
	c.cwnd.threshold = window / 2
	c.flight.bytes = window
	c.prr = prr{delivered: window/2 - mss, sent: window/4 - mss, flight: window}
	c.reduce(&delivery{bytes: mss}, false)
	if allowed := c.cwnd.size - window; allowed != mss {
		t.Errorf("half of the window has arrived, and a quarter was sent but for one segment: %d bytes may go", allowed)
	}
}
