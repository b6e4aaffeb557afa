package httpload

import (
	"errors"
	"fmt"
	nethttp "net/http"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// Judge returns what is wrong with an answer to r, nil if it is as described. The body is decoded.
// Check.Same is not judged, because it needs the first answer. r must be valid.
func (r *Request) Judge(status int, body []byte) error {
	low, high, _ := r.Status.span()
	if status < low || status > high {
		want := string(r.Status)
		if want == "" {
			want = "200"
		}
		return fmt.Errorf("expected status %s, saw %d %s", want, status, nethttp.StatusText(status))
	}
	if r.Check.Body != nil && string(body) != *r.Check.Body {
		return fmt.Errorf("expected the body %.60q, saw %.60q", *r.Check.Body, body)
	}
	parts := newPartCheck(r.Check, false)
	if parts.searches() && len(body) > MaxSearched {
		return fmt.Errorf("its body has more than the %d bytes that are searched", MaxSearched)
	}
	if _, detail := parts.judgeText(body); detail != "" {
		return errors.New(detail)
	}
	return nil
}

// FormatMix returns requests as a file that ParseMix reads. Bodies that are not UTF-8, which TOML
// cannot hold, are in hexadecimal.
func FormatMix(mix []Request) ([]byte, error) {
	mix = slices.Clone(mix)
	for i := range mix {
		mix[i].encodeBodies()
	}
	return toml.Marshal(mixFile{mix})
}
