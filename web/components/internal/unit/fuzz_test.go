package unit

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var size = regexp.MustCompile(`(?i)^[\s\v\p{Z}\x{85}]*([0-9]+)[\s\v\p{Z}\x{85}]*(B|KB|MB|GB)?$`)

// FuzzSize holds sizes against a grammar, and against numbers that do not overflow.
func FuzzSize(f *testing.F) {
	for _, seed := range []string{"", "0", "12", "12B", "2 gb", "-1", "1.5MB", "+3", "1_000", "9223372036854775807", "9007199254740992KB", "KB", "1KBB", "1 0MB", "0x10"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Size("size", text, 7)
		if text == "" {
			if n != 7 || err != nil {
				t.Fatalf("no size: got %d, %v, want the default 7", n, err)
			}
			return
		}
		m := size.FindStringSubmatch(text)
		if m == nil {
			if err == nil {
				t.Fatalf("%q: got %d, want an error: the grammar does not have it", text, n)
			}
			return
		}
		want, _ := new(big.Int).SetString(m[1], 10)
		want.Lsh(want, map[string]uint{"": 0, "B": 0, "KB": 10, "MB": 20, "GB": 30}[strings.ToUpper(m[2])])
		if (err == nil) != want.IsInt64() || err == nil && n != want.Int64() {
			t.Fatalf("%q is %d, %v, want %v", text, n, err, want)
		}
		if again, err2 := Size("size", strconv.FormatInt(n, 10), 0); err == nil && (again != n || err2 != nil) {
			t.Fatalf("%d as text: got %d, %v, want the same number", n, again, err2)
		}
	})
}

// FuzzDuration holds that what is read is written as what is read the same.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"", "30s", "1m30s", "-1s", "1", "1e3s", "9999999h", "0.5ms", "+2s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Duration("time", text, time.Second)
		if err != nil {
			if d != 0 || !strings.HasPrefix(err.Error(), "time is ") {
				t.Fatalf("%q: got %v, %v, want 0 with an error that names the field", text, d, err)
			}
			return
		}
		if again, err := Duration("time", d.String(), 0); d < 0 || err != nil || again != d {
			t.Fatalf("%q: got %v, and from that text %v, %v, want the same duration", text, d, again, err)
		}
	})
}
