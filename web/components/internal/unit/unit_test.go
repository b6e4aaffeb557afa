package unit

import (
	"testing"
	"time"
)

func TestSizeParsesAndRejectsTexts(t *testing.T) {
	for text, want := range map[string]int64{
		"": 7, "0": 0, "12": 12, "12B": 12, "4KB": 4096, "64MB": 64 << 20, "2 gb": 2 << 30,
		"-1": -1, "1.5MB": -1, "MB": -1, "1TB": -1, "9999999999GB": -1, "9223372036854775807": 1<<63 - 1, "9223372036854775808": -1,
	} {
		got, err := Size("limit", text, 7)
		if want == -1 && err == nil || want != -1 && (err != nil || got != want) {
			t.Errorf("%q: %d, %v, want %d (-1: an error)", text, got, err, want)
		}
	}
}

func TestDurationParsesAndRejectsTexts(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 7, "0s": 0, "30s": 30 * time.Second, "1m30s": 90 * time.Second, "-1s": -1, "30": -1, "soon": -1,
	} {
		got, err := Duration("timeout", text, 7)
		if want == -1 && err == nil || want != -1 && (err != nil || got != want) {
			t.Errorf("%q: %v, %v, want %v (-1: an error)", text, got, err, want)
		}
	}
}

func TestErrorsNameTheField(t *testing.T) {
	_, err := Size("cache", "much", 0)
	if err == nil || err.Error() != `cache is "much", which is not a size: write a number of bytes, or one with KB, MB or GB behind it` {
		t.Errorf("Size: got %v, want an error that names the field cache, its value and the form", err)
	}
	_, err = Duration("wait", "long", 0)
	if err == nil || err.Error() != `wait is "long", which is not a duration: write one such as "30s" or "1m30s"` {
		t.Errorf("Duration: got %v, want an error that names the field wait, its value and the form", err)
	}
}
