package host

import (
	"testing"
	"time"

	"weir/tcpip/link"
)

func TestParseImpairment(t *testing.T) {
	for text, want := range map[string]link.Impairment{
		"":          {},
		"off":       {},
		"loss=1%":   {Loss: 0.01},
		"loss=0.25": {Loss: 0.25},
		"loss=10%,delay=20ms,jitter=5ms,reorder=1%,duplicate=0.5%,rate=10Mbit": {Loss: 0.1, Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, Reorder: 0.01,
			Duplicate: 0.005, Rate: 10_000_000},
		"rate=1.5Gbit, delay=1s": {Rate: 1_500_000_000, Delay: time.Second},
		"rate=9600bit":           {Rate: 9600},
	} {
		got, err := ParseImpairment(text)
		if err != nil || got != want {
			t.Errorf("%q is %+v (%v), want %+v", text, got, err, want)
		}
		again, err := ParseImpairment(ImpairmentText(got))
		if err != nil || again != got {
			t.Errorf("%q, written as %q and parsed again: got %+v, error %v; want %+v", text, ImpairmentText(got), again, err, got)
		}
	}
}

func TestInvalidImpairmentsAreRejected(t *testing.T) {
	for _, text := range []string{"x", "loss", "loss=", "loss=101%", "loss=-1%", "loss=NaN", "delay=20", "delay=-1ms", "delay=1h", "rate=10", "rate=0bit", "rate=infGbit", "loss=1%,loss=2%", "loss=1%,", "on"} {
		if i, err := ParseImpairment(text); err == nil {
			t.Errorf("%q was parsed as %+v, want an error", text, i)
		}
	}
}

// A parsed impairment is accepted by a link, and its text is parsed as the same one.
func FuzzImpairment(f *testing.F) {
	f.Add("loss=10%,delay=20ms,jitter=5ms,reorder=1%,duplicate=0.5%,rate=10Mbit")
	f.Fuzz(func(t *testing.T, text string) {
		i, err := ParseImpairment(text)
		if err != nil {
			return
		}
		near, far := link.Pair(link.PairConfig{})
		defer far.Close()
		l, err := link.Impair(near, link.ImpairConfig{Out: i, In: i})
		if err != nil {
			t.Fatalf("%q: Impair got error %v, want none for an impairment that was parsed", text, err)
		}
		l.Close()
		written := ImpairmentText(i)
		again, err := ParseImpairment(written)
		if err != nil || ImpairmentText(again) != written {
			t.Errorf("%q, written as %q and parsed again: got %q, error %v; want the same text", text, written, ImpairmentText(again), err)
		}
	})
}
