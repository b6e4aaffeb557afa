package engine

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/web/http1"
)

// Bits of the choices of a scripted response. The lowest two bits choose the method.
const (
	chooseHTTP10   = 1 << (iota + 2) // the client's version is HTTP/1.0, with keep-alive
	chooseFlush                      // each piece is flushed
	chooseTrailer                    // the field is a trailer
	chooseInterim                    // 103 (Early Hints) precedes the response
	chooseDeclared                   // Content-Length is set
)

// scripted is a response that a handler makes of fuzzed values.
type scripted struct {
	method      string
	choices     byte
	status      int
	name, value string
	parts       []string
	declared    string // Content-Length; "": none

	accepted string // content that Write has taken
	next     int    // calls for the request behind this one
}

// ServeHTTP implements [http.Handler].
func (a *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/next" {
		a.next++
		_, _ = io.WriteString(w, "next")
		return
	}
	name := a.name
	if a.choices&chooseTrailer != 0 {
		name = http.TrailerPrefix + name
	}
	w.Header()[name] = []string{a.value} // also names that are not canonical
	if a.declared != "" {
		w.Header()["Content-Length"] = []string{a.declared}
	}
	if a.choices&chooseInterim != 0 {
		w.WriteHeader(http.StatusEarlyHints)
	}
	w.WriteHeader(a.status)
	for _, part := range a.parts {
		n, _ := io.WriteString(w, part)
		a.accepted += part[:n]
		if a.choices&chooseFlush != 0 {
			w.(http.Flusher).Flush()
		}
	}
}

// serve returns the output of the request for the response, and of one behind it.
func (a *scripted) serve() string {
	target, version := "/", "HTTP/1.1\r\n"
	if a.method == "CONNECT" {
		target = "a:1"
	}
	if a.choices&chooseHTTP10 != 0 {
		version = "HTTP/1.0\r\nConnection: keep-alive\r\n"
	}
	request := a.method + " " + target + " " + version + "Host: a:1\r\nContent-Length: 0\r\n\r\n"
	return serveRepeated(a, request+"GET /next HTTP/1.1\r\nHost: a\r\n\r\n", 1)
}

// wantStatus returns the status of the final response: others below 200 than 101 precede it.
func (a *scripted) wantStatus() int {
	if a.status < 200 && a.status != http.StatusSwitchingProtocols {
		return http.StatusOK
	}
	return a.status
}

// wantValue returns the value of the field as a client reads it.
func (a *scripted) wantValue() string {
	value := []byte(a.value)
	for i, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			value[i] = ' '
		}
	}
	return strings.Trim(string(value), " \t")
}

// isSent reports whether the field must arrive, as a field or as a trailer.
func (a *scripted) isSent(asTrailer, chunked bool) bool {
	framing := []string{"Connection", "Content-Length", "Transfer-Encoding", "Trailer", "Host"}
	isTrailer := a.choices&chooseTrailer != 0
	return isToken(a.name) && !slices.Contains(framing, http.CanonicalHeaderKey(a.name)) && asTrailer == isTrailer && (!isTrailer || chunked)
}

// isToken reports whether a name is one of RFC 9110, section 5.6.2.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// received is a response as a client reads it.
type received struct {
	status  int
	values  []string // of the field
	content string
	short   bool // the connection has ended within the content
	close   bool
	chunked bool
	length  int64 // -1: not known
	trailer []string
}

// readByNetHTTP reads the final response as net/http does, and returns what is behind it.
func (a *scripted) readByNetHTTP(out string) (got received, rest string, err error) {
	in := bufio.NewReader(strings.NewReader(out))
	for {
		resp, err := http.ReadResponse(in, &http.Request{Method: a.method})
		if err != nil {
			return got, "", err
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		name := http.CanonicalHeaderKey(a.name)
		got = received{status: resp.StatusCode, values: resp.Header[name], close: resp.Close, chunked: len(resp.TransferEncoding) > 0, length: resp.ContentLength}
		content, err := io.ReadAll(resp.Body)
		if got.content, got.trailer, got.short = string(content), resp.Trailer[name], err == io.ErrUnexpectedEOF; got.short {
			err = nil
		}
		behind, _ := io.ReadAll(in)
		return got, string(behind), err
	}
}

// readByHTTP1 is readByNetHTTP by this module's own reader.
func (a *scripted) readByHTTP1(out string) (got received, rest string, err error) {
	b := []byte(out)
	for {
		n := http1.ResponseHead(b, 0)
		r, err := http1.ParseResponse(b[:n], a.method)
		if err != nil {
			return got, "", err
		}
		b = b[n:]
		if r.Status < 200 && r.Status != http.StatusSwitchingProtocols {
			continue
		}
		got = received{status: r.Status, close: r.Close, values: fieldValues(r.Fields, a.name), length: -1}
		switch r.Framing {
		case http1.ByLength:
			content := b[:min(r.Length, int64(len(b)))]
			got.length, got.content, got.short, b = r.Length, string(content), int64(len(content)) < r.Length, b[len(content):]
		case http1.Chunked:
			b, err = got.readChunks(b, a.name)
		case http1.UntilClose:
			got.content, b = string(b), nil
		}
		return got, string(b), err
	}
}

func (got *received) readChunks(b []byte, name string) (rest []byte, err error) {
	got.chunked = true
	var content, framing []byte
	for s := http1.NewContentScanner(http1.Limits{}); !s.Between(); {
		if len(b) == 0 {
			got.short = true
			return nil, nil
		}
		n, isContent, v := s.Step(b)
		if v != nil {
			return nil, v
		}
		if isContent {
			content, framing = append(content, b[:n]...), nil
		} else {
			framing = append(framing, b[:n]...)
		}
		b = b[n:]
	}
	got.content, got.trailer = string(content), fieldValues(http1.Trailers(framing), name)
	return b, nil
}

func fieldValues(lines []byte, wanted string) (values []string) {
	for name, value := range http1.FieldLines(lines) {
		if bytes.EqualFold(name, []byte(wanted)) {
			values = append(values, string(value))
		}
	}
	return values
}

// check returns how a response that was read differs from the one that the handler has made.
func (a *scripted) check(got received, rest string) string {
	content := a.accepted
	if a.method == "HEAD" {
		content = ""
	}
	wantShort := content != "" || got.length > 0 // a handler may write less than it declares
	switch {
	case got.status != a.wantStatus():
		return fmt.Sprintf("got status %d, want %d", got.status, a.wantStatus())
	case got.content != content:
		return fmt.Sprintf("got content %q, want %q", got.content, content)
	case got.short && !(wantShort && a.declared != "" || a.name == "Content-Length"):
		return "got a response that is not complete, want a whole one"
	case a.isSent(false, got.chunked) && !slices.Contains(got.values, a.wantValue()):
		return fmt.Sprintf("got values %q, want %q", got.values, a.wantValue())
	case !got.short && a.isSent(true, got.chunked) && !slices.Contains(got.trailer, a.wantValue()):
		return fmt.Sprintf("got trailers %q, want %q", got.trailer, a.wantValue())
	case got.short || got.close:
		if rest != "" || a.next != 0 {
			return fmt.Sprintf("got %q behind the last response, want nothing", rest)
		}
	case !strings.HasPrefix(rest, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(rest, "\r\n\r\nnext") || strings.Count(rest, "HTTP/1.1") != 1 || a.next != 1:
		return fmt.Sprintf("got %q behind the response, want the next one", rest)
	}
	return ""
}

// FuzzResponsesAreReadAsTheyWereMade: the response that a handler makes is the one that net/http,
// and the reader of package http1, make of the output, and the next response follows it. No name
// and no value splits a response.
func FuzzResponsesAreReadAsTheyWereMade(f *testing.F) {
	const split = "b\r\nContent-Length: 3\r\n\r\nHTTP/1.1 200 OK\r\n\x00"
	f.Add(byte(0), uint16(100), "X-A", "b", "content", []byte{3}, uint16(0))
	f.Add(byte(chooseFlush|chooseTrailer), uint16(100), "Sum", split, "content", []byte{3, 1}, uint16(0))
	f.Add(byte(1|chooseInterim), uint16(204), "X\r\nA", split, "content", []byte{}, uint16(0))
	f.Add(byte(2|chooseHTTP10|chooseFlush), uint16(3), "X-A", split, strings.Repeat("content", 3000), []byte{200, 200}, uint16(0))
	f.Add(byte(3|chooseDeclared), uint16(303), "Connection", "close", "content", []byte{3}, uint16(7))
	f.Add(byte(chooseDeclared), uint16(100), "Date", "", "content", []byte{3}, uint16(9))
	f.Add(byte(chooseFlush), uint16(100), "content-length", "3", "content", []byte{3}, uint16(0))
	f.Add(byte(chooseFlush), uint16(100), "transfer-encoding", "x", "content", []byte{3}, uint16(0))
	f.Add(byte(0), uint16(100), "connection", "close", "content", []byte{}, uint16(0))
	f.Add(byte(chooseFlush|chooseTrailer), uint16(100), "content-Length", "3", "content", []byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, choices byte, status uint16, name, value, content string, sizes []byte, declared uint16) {
		a := &scripted{
			method: []string{"GET", "HEAD", "POST", "CONNECT"}[choices&3], choices: choices, status: 100 + int(status)%900,
			name: name, value: value, parts: cut(content, sizes),
		}
		if a.method == "CONNECT" {
			a.status = max(a.status, 300) // others start a tunnel
		}
		if choices&chooseDeclared != 0 {
			a.declared = strconv.Itoa(int(declared))
		}
		if http.CanonicalHeaderKey(name) == "Trailer" || a.status == http.StatusSwitchingProtocols {
			return // the handler declares what it does not send; another protocol follows
		}
		out := a.serve()
		for reader, read := range map[string]func(string) (received, string, error){"net/http": a.readByNetHTTP, "http1": a.readByHTTP1} {
			got, rest, err := read(out)
			if err != nil {
				t.Fatalf("%s: got error %v, want a response; the output is %q", reader, err, out)
			}
			if difference := a.check(got, rest); difference != "" {
				t.Fatalf("%s: %s; the output is %q", reader, difference, out)
			}
		}
	})
}
