package tcp

import (
	"testing"
	"time"

	"weir/wire"
)

// A goroutine that reads the clock first but calls second does not make timestamps go back: the
// peer would drop the segment (PAWS).
func TestTimestampsDoNotGoBack(t *testing.T) {
	cfg := Config{}.WithDefaults()
	now := Time(time.Hour)
	syn := Segment{Flags: wire.SYN, Window: 65535, Options: wire.TCPOptions{MSS: 1000, HasTimestamps: true, TSVal: 1}}
	c := Accept(&cfg, 0, 0, &syn, now)
	var last wire.Timestamp
	note := func(o *OutSegment) {
		if o.Options.TSVal.Less(last) {
			t.Errorf("%v has timestamp %d, want at least the %d of the segment before", o.Flags, o.Options.TSVal, last)
		}
		last = o.Options.TSVal
	}
	c.Output(now, note)
	stamps := wire.TCPOptions{HasTimestamps: true, TSVal: 2}
	c.Arrive(now, &Segment{Seq: 1, Ack: 1, Flags: wire.ACK, Window: 65535, Options: stamps})
	c.Write(now.Add(20*time.Millisecond), make([]byte, 100)) // the application
	c.Output(now.Add(20*time.Millisecond), note)
	// the reader
	c.Arrive(now.Add(10*time.Millisecond), &Segment{Seq: 1, Ack: 1, Flags: wire.ACK, Window: 65535, Options: stamps, Payload: make([]byte, 10)})
	c.Output(now.Add(10*time.Millisecond), note)
	if c.Read(now.Add(5*time.Millisecond), make([]byte, 10)); last == 0 {
		t.Error("no segment was sent, want some")
	}
}
