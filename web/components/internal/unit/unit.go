// Package unit reads the sizes and durations of the components' Configs.
//
// # Limitations
//
// Sizes are whole numbers of bytes, KB, MB or GB, of 1024 each; there is no fraction.
package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var factors = []struct {
	suffix string
	bytes  int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}, {"", 1}}

// Size parses a size such as "10MB", in bytes: a number with B, KB, MB, GB or nothing behind it. An
// empty text means the default. The error names the field.
func Size(field, text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	for _, f := range factors {
		digits, ok := strings.CutSuffix(strings.ToUpper(text), f.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		if err != nil || int64(n) > math.MaxInt64/f.bytes {
			break
		}
		return int64(n) * f.bytes, nil
	}
	return 0, fmt.Errorf("%s is %q, which is not a size: write a number of bytes, or one with KB, MB or GB behind it", field, text)
}

// Duration parses a duration such as "30s" or "1m30s", which must not be negative. An empty text
// means the default. The error names the field.
func Duration(field, text string, otherwise time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%s is %q, which is not a duration: write one such as \"30s\" or \"1m30s\"", field, text)
	}
	return d, nil
}
