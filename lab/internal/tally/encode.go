package tally

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxEncoded is the largest encoded distribution that is decoded, in bytes. One of random times has
// about 60 kB.
const maxEncoded = 1 << 20

// maxDecoded is the largest number of times in a distribution that is decoded: sums of a thousand
// do not overflow.
const maxDecoded = 1 << 53

// Encode returns d in HdrHistogram's compressed encoding, version 2, in base64.
func (d Distribution) Encode() string {
	text, _ := d.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase) //nolint:errcheck // writes to memory
	return string(text)
}

// Decode returns the distribution that Encode has encoded.
func Decode(text string) (Distribution, error) {
	if len(text) > maxEncoded {
		return Distribution{}, fmt.Errorf("it has %d bytes, and at most %d are allowed", len(text), maxEncoded)
	}
	h, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return Distribution{}, err
	}
	if h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != distributionMax || h.SignificantFigures() != significantDigits {
		return Distribution{}, fmt.Errorf("it is of times from %d to %d ns with %d digits, want 1 to %d with %d", h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), distributionMax, significantDigits)
	}
	if h.TotalCount() > maxDecoded {
		return Distribution{}, fmt.Errorf("it has %d times, and at most %d are allowed", h.TotalCount(), int64(maxDecoded))
	}
	return Distribution{h}, nil
}

// Merge adds the times of e to d.
func (d Distribution) Merge(e Distribution) { d.h.Merge(e.h) }
