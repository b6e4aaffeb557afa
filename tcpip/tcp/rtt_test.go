package tcp

import (
	"testing"
	"time"

	"weir/wire"
)

// A forged timestamp echo must not yield a round-trip time of weeks.
func TestImplausibleEchoIsNoRTTSample(t *testing.T) {
	cfg := Config{}.WithDefaults()
	now := Time(time.Hour)
	syn := Segment{Seq: peerISS, Flags: wire.SYN, Window: 65535}
	syn.Options.MSS, syn.Options.HasTimestamps, syn.Options.TSVal = 1000, true, 1
	c := Accept(&cfg, ourISS, 0, &syn, now)
	silent := func(*OutSegment) {}
	c.Output(now, silent)
	for i := range 5 {
		now = now.Add(10 * time.Millisecond)
		ack := Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(1 + 1000*i), Flags: wire.ACK, Window: 65535}
		ack.Options.HasTimestamps, ack.Options.TSVal, ack.Options.TSEcr = true, wire.Timestamp(2+i), c.tsNow()+1000
		c.Arrive(now, &ack)
		c.Write(now, make([]byte, 1000))
		c.Output(now, silent)
		now = now.Add(300 * time.Millisecond)
		c.Tick(now) // retransmit, so that only the echo could measure the RTT
		c.Output(now, silent)
	}
	if c.estimator.srtt > time.Minute || c.estimator.rto > 10*time.Second {
		t.Errorf("SRTT is %v and RTO %v, want at most 1m and 10s", c.estimator.srtt, c.estimator.rto)
	}
}
