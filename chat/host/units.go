package host

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a duration in a configuration: in Go's format ("90s", "1h30m"), or in days ("90d") or
// weeks ("2w"). 0 is the default, or no limit.
type Duration time.Duration

// Std returns the duration as package time has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// maxDuration is the largest Duration: a hundred years.
const maxDuration = 100 * 365 * 24 * time.Hour

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	long, err := time.ParseDuration(s)
	if n := len(s) - 1; err != nil && n > 0 && (s[n] == 'd' || s[n] == 'w') {
		days, perr := strconv.ParseUint(s[:n], 10, 16)
		if s[n] == 'w' {
			days *= 7
		}
		days = min(days, uint64(maxDuration/(24*time.Hour))+1) // too long, but no overflow
		long, err = time.Duration(days)*24*time.Hour, perr
	}
	if err != nil || long < 0 || long > maxDuration {
		return fmt.Errorf("%q is not a duration: write one such as \"45s\", \"30m\", \"12h\", \"90d\" or \"2w\"", s)
	}
	*d = Duration(long)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) {
	if day := 24 * time.Hour; d > 0 && time.Duration(d)%day == 0 {
		return fmt.Appendf(nil, "%dd", time.Duration(d)/day), nil
	}
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return []byte(text), nil
}

// Size is a size in bytes in a configuration: a number, optionally with KB, MB, GB (powers of
// 1,000) or KiB, MiB, GiB (of 1,024). 0 is the default, or no limit.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}, {"", 1}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (z *Size) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	for _, u := range sizeUnits {
		number, has := strings.CutSuffix(s, u.name)
		if !has {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.bytes {
			break
		}
		*z = Size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size: write one such as 4096, \"500MB\" or \"2GiB\"", s)
}

// MarshalText implements encoding.TextMarshaler.
func (z Size) MarshalText() ([]byte, error) {
	for _, u := range sizeUnits {
		if int64(z) >= u.bytes && int64(z)%u.bytes == 0 && u.bytes > 1 {
			return fmt.Appendf(nil, "%d%s", int64(z)/u.bytes, u.name), nil
		}
	}
	return strconv.AppendInt(nil, int64(z), 10), nil
}
