package tally

import (
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func FuzzDecode(f *testing.F) {
	d := NewDistribution()
	f.Add(d.Encode())
	for _, ns := range []int64{0, 1000, 5_000_000, distributionMax} {
		d.Record(ns)
	}
	f.Add(d.Encode())
	f.Add("")
	f.Add("HISTFAAAACF42pNpmSzMwMDAyAABzFCaEUoz2X+AMIKZAEcdA8k=")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Decode(d.Encode())
		if err != nil || again.Percentiles() != d.Percentiles() || again.Count() != d.Count() {
			t.Errorf("got %d times %+v, error %v after encoding and decoding again; want %d %+v", again.Count(), again.Percentiles(), err, d.Count(), d.Percentiles())
		}
	})
}

func TestOtherHistogramsAreRejected(t *testing.T) {
	coarse := Distribution{hdrhistogram.New(1, distributionMax, 2)}
	coarse.Record(5)
	many := NewDistribution()
	if err := many.h.RecordValues(5, maxDecoded+1); err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string]string{"it has 9007199254740993 times": many.Encode(), "with 2 digits": coarse.Encode(), "at most 1048576 are allowed": strings.Repeat("A", maxEncoded+1), "too short": ""} {
		if _, err := Decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got error %v, want %q", text, err, want)
		}
	}
}
