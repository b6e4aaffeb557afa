package host

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationsAreParsed(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"45s": 45 * time.Second, "1h30m": 90 * time.Minute, "90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "0": 0, "0s": 0,
		"": -1, "d": -1, "5": -1, "-1s": -1, "-1d": -1, "1.5d": -1, "70000d": -1, "5x": -1, "1d2h": -1, "36501d": -1,
		"36500d": 36500 * 24 * time.Hour, "5214w": 5214 * 7 * 24 * time.Hour, "5215w": -1, "16000w": -1, "35000w": -1, "65535w": -1,
	} {
		var d Duration
		err := d.UnmarshalText([]byte(text))
		if (err != nil) != (want < 0) || err == nil && d.Std() != want {
			t.Errorf("%q: got %v, %v; want %v", text, d.Std(), err, want)
		}
	}
}

func TestSizesAreParsed(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "1KB": 1000, "1KiB": 1024, "500 MB": 5e8, "2GiB": 2 << 30, "7B": 7,
		"": -1, "MB": -1, "-1": -1, "1.5GB": -1, "1TB": -1, "9999999999999GB": -1, "1 kb": -1,
	} {
		var z Size
		err := z.UnmarshalText([]byte(text))
		if (err != nil) != (want < 0) || err == nil && int64(z) != want {
			t.Errorf("%q: got %d, %v; want %d", text, z, err, want)
		}
	}
}

func TestUnitsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(maxDuration)).Draw(t, "duration"))
		z := Size(rapid.Int64Range(0, 1<<61).Draw(t, "size"))
		var d2 Duration
		var z2 Size
		dt, _ := d.MarshalText()
		zt, _ := z.MarshalText()
		if err := d2.UnmarshalText(dt); err != nil || d2 != d {
			t.Errorf("%v: written as %q and parsed as %v, %v; want the same", d.Std(), dt, d2.Std(), err)
		}
		if err := z2.UnmarshalText(zt); err != nil || z2 != z {
			t.Errorf("%d: written as %q and parsed as %d, %v; want the same", z, zt, z2, err)
		}
	})
}
