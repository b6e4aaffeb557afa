package response

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// write formats a response with the head h and a body, in chunks of three bytes if h is chunked.
func write(h Head, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.%d %03d Reason\r\n", h.Minor, h.Status)
	if h.Length >= 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", h.Length)
	}
	if h.Chunked {
		b.WriteString("Transfer-Encoding: chunked\r\n")
	}
	if h.Coding != Identity {
		b.WriteString("Content-Encoding: " + []string{"", "gzip", "br"}[h.Coding] + "\r\n")
	}
	if h.Close {
		b.WriteString("Connection: close\r\n")
	} else if h.Minor == 0 {
		b.WriteString("Connection: keep-alive\r\n")
	}
	b.WriteString("\r\n")
	if !h.Chunked || h.Status == 304 {
		return b.String() + body
	}
	for len(body) > 0 {
		n := min(3, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

// FuzzResponse checks that the parser's result does not depend on how the input is split, and that
// net/http parses an accepted response as the same message. An accepted response that is written
// again must be parsed as the same message too.
func FuzzResponse(f *testing.F) {
	for _, test := range wrongs {
		f.Add(test.text, 5)
	}
	for _, test := range rights {
		f.Add(test.text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		var whole, cut, again Parser
		whole.Begin(false)
		cut.Begin(false)
		var known Known
		again.Share(&known)
		body, rest, err := read(&whole, text, len(text)+1, true)
		body2, _, err2 := read(&cut, text, 1+size&15, true)
		if err != err2 || body != body2 || whole.Head != cut.Head {
			t.Fatalf("got %v, %+v, %q in pieces, want %v, %+v, %q as from the whole", err2, cut.Head, body2, err, whole.Head, body)
		}
		if err != nil {
			return
		}
		final := write(whole.Head, body)
		for _, size := range []int{4, len(final), len(final)} { // the last finds a known head
			again.Begin(false)
			if body2, rest, err := read(&again, final, size, true); err != nil || rest != "" || body2 != body || again.Head != whole.Head {
				t.Errorf("%+v with %q, written as %q: got error %v, %+v, %q; want the same", whole.Head, body, final, err, again.Head, body2)
			}
		}
		sameAsStandard(t, strings.TrimSuffix(text, rest), whole.Head, body)
	})
}

func sameAsStandard(t *testing.T, text string, h Head, body string) {
	t.Helper()
	for r := bufio.NewReader(strings.NewReader(text)); ; {
		response, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("a response was accepted for which net/http returns error %v, want none", err)
		}
		if response.StatusCode < 200 {
			continue
		}
		got, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != h.Status || !bytes.Equal(got, []byte(body)) {
			t.Fatalf("got %+v with %q, want the status %d with %q as from net/http (error %v)", h, body, response.StatusCode, got, err)
		}
		return
	}
}
