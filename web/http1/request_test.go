package http1

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseRequestSplitsTheHead(t *testing.T) {
	r := ParseRequest([]byte("PUT /a?b HTTP/1.0\r\nHost: h\r\nX:\t y z \r\nEmpty:\r\n\r\n"))
	var fields []string
	for name, value := range FieldLines(r.Fields) {
		fields = append(fields, fmt.Sprintf("%s=%s", name, value))
	}
	got := fmt.Sprintf("%s %s %d %q", r.Method, r.Target, r.Minor, fields)
	if want := `PUT /a?b 0 ["Host=h" "X=y z" "Empty="]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOptionsDecideHowTheConnectionGoesOn(t *testing.T) {
	for _, c := range []struct {
		requirement, fields string
		minor               int
		want                Options
	}{
		{"HTTP/1.1 connections persist by default (RFC 9112, section 9.3)", "", 1, Options{}},
		{"the close option ends the connection (9.6)", "Connection: foo, Close\r\n", 1, Options{Close: true}},
		{"a word that contains close is another option", "Connection: closed\r\n", 1, Options{}},
		{"HTTP/1.0 connections end by default (9.3)", "", 0, Options{Close: true}},
		{"HTTP/1.0 clients may ask to keep the connection", "Connection: Keep-Alive\r\n", 0, Options{KeepAlive: true}},
		{"close takes precedence", "Connection: keep-alive, close\r\n", 0, Options{Close: true, KeepAlive: true}},
		{"a length", "Content-Length: 0123\r\n", 1, Options{Length: 123}},
		{"chunks have no known length", "Transfer-Encoding: chunked\r\n", 1, Options{Length: -1}},
		{"Upgrade needs the connection option (RFC 9110, section 7.8)", "Upgrade: websocket\r\n", 1, Options{}},
		{"an upgrade", "Upgrade: websocket\r\nConnection: Upgrade\r\n", 1, Options{Upgrade: true}},
		{"a server ignores Upgrade of HTTP/1.0 (7.8)", "Upgrade: websocket\r\nConnection: Upgrade, keep-alive\r\n", 0, Options{KeepAlive: true}},
		{"100-continue knows no case (10.1.1)", "Expect: 100-Continue\r\n", 1, Options{ExpectContinue: true}},
		{"100-continue of HTTP/1.0 is ignored (10.1.1)", "Expect: 100-continue\r\n", 0, Options{Close: true}},
		{"another expectation is unknown", "Expect: more\r\n", 1, Options{ExpectUnknown: true}},
	} {
		if got := ParseOptions(Request{Minor: c.minor, Fields: []byte(c.fields)}); got != c.want {
			t.Errorf("%s: %q: got %+v, want %+v", c.requirement, c.fields, got, c.want)
		}
	}
}

// TestStepsDoNotDependOnReadSizes: heads, content and framing are the same however a stream is cut.
func TestStepsDoNotDependOnReadSizes(t *testing.T) {
	stream := "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: u\r\n\r\n" +
		"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nPUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
	want := "head body[abcde] end head end head body[hi] end "
	for size := 1; size <= len(stream); size++ {
		if got := describeSteps(t, stream, size); got != want {
			t.Errorf("in reads of %d bytes: got %s, want %s", size, got, want)
		}
	}
}

// describeSteps passes a stream to a scanner in reads of the given size and returns what it saw.
func describeSteps(t *testing.T, stream string, size int) string {
	s := New(Limits{})
	var seen, content strings.Builder
	inHead, messages := true, uint64(0)
	for start := 0; start < len(stream); {
		n, isContent, v := s.Step([]byte(stream[start:min(len(stream), start+size)]))
		if v != nil {
			t.Fatalf("got %v, want a valid stream", v)
		}
		if isContent {
			content.WriteString(stream[start : start+n])
		}
		start += n
		ended := s.Requests() > messages
		if inHead && (ended || s.InBody()) {
			inHead = false
			seen.WriteString("head ")
		}
		if ended {
			if content.Len() > 0 {
				fmt.Fprintf(&seen, "body[%s] ", &content)
			}
			seen.WriteString("end ")
			content.Reset()
			inHead, messages = true, s.Requests()
		}
	}
	return seen.String()
}
