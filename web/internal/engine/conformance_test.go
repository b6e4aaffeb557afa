package engine

import (
	"strings"
	"testing"

	"weir/web/internal/conformance"
)

// TestTheEngineConformsToTheRFCs, also if the input is cut at any byte, or arrives byte by byte.
func TestTheEngineConformsToTheRFCs(t *testing.T) {
	s := New(Config{Handler: conformance.Handler()})
	answer := func(parts ...string) string {
		c := &pieces{left: parts}
		s.ServeConn(c, nil, nil)
		return conformance.Answer(strings.NewReader(c.written.String()))
	}
	for _, row := range conformance.Rows() {
		in := row.Input + conformance.Next
		if got := answer(in); got != row.Want {
			t.Errorf("%s (RFC %s): got %s, want %s", row.Name, row.Section, got, row.Want)
			continue
		}
		if len(in) > 2000 {
			continue // other rows have all states
		}
		if got := answer(strings.Split(in, "")...); got != row.Want {
			t.Errorf("%s (RFC %s), byte by byte: got %s, want %s", row.Name, row.Section, got, row.Want)
		}
		for cut := 1; cut < len(in); cut++ {
			if got := answer(in[:cut], in[cut:]); got != row.Want {
				t.Errorf("%s (RFC %s), cut after %d bytes: got %s, want %s", row.Name, row.Section, cut, got, row.Want)
			}
		}
	}
}

// TestARejectionOfHEADHasNoContent: "The server MUST NOT send content in the response" (RFC 9110,
// section 9.3.2).
func TestARejectionOfHEADHasNoContent(t *testing.T) {
	for name, request := range map[string]string{
		"no Host":           "HEAD / HTTP/1.1\r\n\r\n",
		"an invalid target": "HEAD /%zz HTTP/1.1\r\nHost: a\r\n\r\n",
		"an invalid field":  "HEAD / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n",
		"behind a request":  get + "HEAD / HTTP/1.1\r\n\r\n",
	} {
		got := serveRepeated(conformance.Handler(), request, 1)
		if !strings.Contains(got, "HTTP/1.1 400 ") || !strings.HasSuffix(got, "\r\n\r\n") {
			t.Errorf("%s: got %q, want status 400 and no content", name, got)
		}
	}
}
