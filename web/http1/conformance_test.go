package http1

import (
	"strconv"
	"strings"
	"testing"

	"weir/web/internal/conformance"
)

// answer returns what an engine answers that trusts the scanner, to a stream that arrives in these
// pieces.
func answer(pieces ...string) string {
	s := New(Limits{})
	var parts []string
	var head, content, framing strings.Builder
	for _, piece := range pieces {
		for len(piece) > 0 {
			before := s.InBody()
			n, isContent, v := s.Step([]byte(piece))
			taken := piece[:n]
			switch piece = piece[n:]; {
			case v != nil:
				return conformance.Join(append(parts, rejected(v, head.String(), before)...))
			case isContent:
				content.WriteString(taken)
				framing.Reset()
			case before:
				framing.WriteString(taken)
			default:
				head.WriteString(taken)
			}
			if !s.Between() || strings.Trim(head.String(), "\r\n") == "" {
				continue
			}
			part, last := received(head.String(), content.String(), framing.String())
			if parts = append(parts, part); last {
				return conformance.Join(parts)
			}
			head.Reset()
			content.Reset()
			framing.Reset()
		}
	}
	return conformance.Join(append(parts, "more is awaited"))
}

// rejected returns the answer to a request with a violation. That in content is the handler's.
func rejected(v *Violation, head string, inBody bool) []string {
	switch {
	case !inBody:
		return []string{strconv.Itoa(v.Status)}
	case interim(head, true) != "":
		return []string{"100", "400"}
	}
	return []string{"400"}
}

// interim returns "100, " if the client of a request with this head waits for its content to be
// asked for.
func interim(head string, inBody bool) string {
	if inBody && ParseOptions(ParseRequest([]byte(strings.TrimLeft(head, "\r\n")))).ExpectContinue {
		return "100, "
	}
	return ""
}

// received returns a request as the answer to it, and reports whether its connection ends.
func received(head, content, framing string) (part string, last bool) {
	r := ParseRequest([]byte(strings.TrimLeft(head, "\r\n")))
	o := ParseOptions(r)
	request := conformance.Request{Method: string(r.Method), Target: string(r.Target), Host: targetHost(r), Content: content}
	for name, value := range FieldLines(r.Fields) {
		switch strings.ToLower(string(name)) {
		case "host":
			if request.Host == "" {
				request.Host = string(value)
			}
		case "x":
			request.X = append(request.X, string(value))
		}
	}
	if o.Length < 0 {
		for name, value := range FieldLines(Trailers([]byte(framing))) {
			if strings.EqualFold(string(name), "t") {
				request.Trailer = append(request.Trailer, string(value))
			}
		}
	}
	if o.ExpectUnknown {
		return "417", true
	}
	return interim(head, o.Length != 0) + request.String(), o.Close
}

// targetHost returns the host of a target in authority-form or absolute-form.
func targetHost(r Request) string {
	if string(r.Method) == "CONNECT" {
		return string(r.Target)
	}
	if _, rest, ok := strings.Cut(string(r.Target), "://"); ok && r.Target[0] != '/' {
		return rest[:strings.IndexAny(rest+"/", "/?")]
	}
	return ""
}

// judgedBehind are the rows that the scanner accepts, and the engine behind it rejects.
var judgedBehind = map[string]string{
	"origin-form: an escape of one digit":      "the scanner does not parse URLs",
	"origin-form: an escape without digits":    "the scanner does not parse URLs",
	"absolute-form: a user":                    "the scanner does not parse URLs",
	"absolute-form: a user and a password":     "the scanner does not parse URLs",
	"absolute-form: a port that is no number":  "the scanner does not parse URLs",
	"absolute-form: a bracket that stays open": "the scanner does not parse URLs",
	"a Content-Length announced as a trailer":  "the scanner rejects the trailer itself when it comes",
}

// TestTheScannerConformsToTheRFCs, also if the input is cut at any byte.
func TestTheScannerConformsToTheRFCs(t *testing.T) {
	for _, row := range conformance.Rows() {
		in := row.Input + conformance.Next
		got := answer(in)
		if why := judgedBehind[row.Name]; (got == row.Want) == (why != "") {
			t.Errorf("%s (RFC %s): got %s, want %s; judged behind the scanner: %q", row.Name, row.Section, got, row.Want, why)
		}
		if len(in) > 2000 {
			continue // other rows have all states
		}
		for cut := 1; cut < len(in); cut++ {
			if other := answer(in[:cut], in[cut:]); other != got {
				t.Errorf("%s (RFC %s), cut after %d bytes: got %s, want %s as in one piece", row.Name, row.Section, cut, other, got)
			}
		}
		if other := answer(strings.Split(in, "")...); other != got {
			t.Errorf("%s (RFC %s), byte by byte: got %s, want %s as in one piece", row.Name, row.Section, other, got)
		}
	}
}
