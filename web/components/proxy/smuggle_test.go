package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/web/internal/webtest"
)

// strict is an upstream that parses requests exactly as RFC 9112 defines them. It records
// violations and requests.
type strict struct {
	mu    sync.Mutex
	asked []string // method, target and body
	wrong []string
}

func (s *strict) serve(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		asked, err := strictRequest(r)
		s.mu.Lock()
		if v, ok := errors.AsType[violation](err); ok {
			s.wrong = append(s.wrong, string(v))
		}
		if err == nil {
			s.asked = append(s.asked, asked)
		}
		s.mu.Unlock()
		if err != nil { // or the proxy has given it up
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

// violation is a violation of RFC 9112.
type violation string

func (v violation) Error() string { return string(v) }

func violates(format string, args ...any) error { return violation(fmt.Sprintf(format, args...)) }

// strictLine reads a line that ends in CRLF and contains no other CR or LF.
func strictLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	text, ok := strings.CutSuffix(line, "\r\n")
	if !ok || strings.ContainsAny(text, "\r\x00") {
		return "", violates("line %q", line)
	}
	return text, nil
}

const tokenChars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// strictRequest reads one request.
func strictRequest(r *bufio.Reader) (string, error) {
	first, err := strictLine(r)
	if err != nil {
		return "", err
	}
	words := strings.Split(first, " ")
	if len(words) != 3 || words[2] != "HTTP/1.1" || words[0] == "" || strings.Trim(words[0], tokenChars) != "" {
		return "", violates("request line %q", first)
	}
	fields := map[string][]string{}
	for {
		line, err := strictLine(r)
		if err != nil {
			return "", err
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.Trim(name, tokenChars) != "" {
			return "", violates("field %q", line)
		}
		name = strings.ToLower(name)
		fields[name] = append(fields[name], strings.Trim(value, " \t"))
	}
	body, err := strictBody(r, fields["content-length"], fields["transfer-encoding"])
	if err == nil && len(fields["host"]) != 1 {
		err = violates("hosts %q", fields["host"])
	}
	return words[0] + " " + words[1] + " " + body, err
}

func strictBody(r *bufio.Reader, lengths, codings []string) (string, error) {
	switch {
	case len(lengths) > 0 && len(codings) > 0 || len(lengths) > 1 || len(codings) > 1 || len(codings) == 1 && codings[0] != "chunked":
		return "", violates("framing %q, %q", lengths, codings)
	case len(lengths) == 1:
		n, err := strconv.ParseUint(lengths[0], 10, 31)
		if err != nil || strings.Trim(lengths[0], "0123456789") != "" {
			return "", violates("length %q", lengths[0])
		}
		body := make([]byte, n)
		_, err = io.ReadFull(r, body)
		return string(body), err
	case len(codings) == 0:
		return "", nil
	}
	var body bytes.Buffer
	for {
		size, err := strictLine(r)
		if err != nil {
			return "", err
		}
		n, err := strconv.ParseUint(size, 16, 31)
		if err != nil || strings.Trim(size, "0123456789abcdefABCDEF") != "" {
			return "", violates("chunk size %q", size)
		}
		if _, err := io.CopyN(&body, r, int64(n)); err != nil {
			return "", err
		}
		if end, err := strictLine(r); err != nil {
			return "", err
		} else if end != "" {
			return "", violates("chunk of %d ends in %q", n, end)
		}
		if n == 0 {
			return body.String(), nil
		}
	}
}

const chunked = "Transfer-Encoding: chunked\r\n"

// An ambiguous request is rejected, or reaches the upstream with one meaning. The upstream never
// receives the hidden request.
func TestSmuggling(t *testing.T) {
	const post = "POST /outer HTTP/1.1\r\nHost: a\r\n"
	const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n" // 33 bytes
	for _, c := range []struct {
		name, sent string
		// requests that may reach the upstream; the exchange may be rejected instead
		asked []string
	}{
		{"a plain request", post + "Content-Length: 2\r\n\r\nab", []string{"POST /outer ab"}},
		{"both lengths, CL.TE", post + "Content-Length: 44\r\n" + chunked + "\r\n0\r\n\r\n" + hidden[:len(hidden)-1], []string{"POST /outer "}},
		{"both lengths, TE.CL", post + chunked + "Content-Length: 4\r\n\r\n21\r\n" + hidden + "\r\n0\r\n\r\n", []string{"POST /outer " + hidden}},
		{"two different lengths", post + "Content-Length: 0\r\nContent-Length: 33\r\n\r\n" + hidden, nil},
		{"two equal lengths", post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", []string{"POST /outer ab"}},
		{"a list of lengths", post + "Content-Length: 2, 2\r\n\r\nab", []string{"POST /outer ab"}},
		{"a signed length", post + "Content-Length: +2\r\n\r\nab", nil},
		{"a hexadecimal length", post + "Content-Length: 0x2\r\n\r\nab", nil},
		{"a length behind blanks", post + "Content-Length: \t 2 \r\n\r\nab", []string{"POST /outer ab"}},
		{"a length that is folded", post + "Content-Length:\r\n 2\r\n\r\nab", []string{"POST /outer ab"}},
		{"a folded field", post + "X-A: b\r\n Content-Length: 33\r\nContent-Length: 0\r\n\r\n", []string{"POST /outer "}},
		{"a folded coding", post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", []string{"POST /outer "}},
		{"a bare LF", "POST /outer HTTP/1.1\nHost: a\nContent-Length: 2\n\nab", []string{"POST /outer ab"}},
		{"a bare LF in a field", post + "X-A: b\nContent-Length: 33\r\nContent-Length: 0\r\n\r\n", nil},
		{"a bare CR in a field", post + "X-A: b\rContent-Length: 33\r\nContent-Length: 0\r\n\r\n", []string{"POST /outer "}},
		{"a space before the colon of a length", post + "Content-Length : 37\r\n\r\n" + hidden, nil},
		{"a space before the colon of a coding", post + "Content-Length: 0\r\nTransfer-Encoding : chunked\r\n\r\n", nil},
		{"a space before a name", "POST /outer HTTP/1.1\r\n Content-Length: 33\r\nHost: a\r\n\r\n" + hidden, nil},
		{"an unknown coding", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", nil},
		{"a list of codings", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", nil},
		{"two codings", post + chunked + "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n", nil},
		{"a coding with a tab", post + "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n", []string{"POST /outer "}},
		{"a coding with a vertical tab", post + "Transfer-Encoding: \x0bchunked\r\nContent-Length: 2\r\n\r\nab", nil},
		{"a coding by HTTP/1.0", "POST /outer HTTP/1.0\r\nHost: a\r\n" + chunked + "Content-Length: 2\r\n\r\nab", []string{"POST /outer ab", "POST /outer "}},
		{"chunk extensions", post + chunked + "\r\n2;a=\"b\"\r\nab\r\n0\r\n\r\n", []string{"POST /outer ab"}},
		{"a chunk extension with a bare LF", post + chunked + "\r\n2;a\nab\r\n0\r\n\r\n", []string{"POST /outer ab"}},
		{"a chunk longer than it says", post + chunked + "\r\n2\r\nabc\r\n0\r\n\r\n", nil},
		{"a request behind a malformed chunk", post + chunked + "\r\nzz\r\n" + hidden, nil},
		{"a request behind a chunk with a wrong end", post + chunked + "\r\n2\r\nabcd" + hidden, nil},
		{"a chunk size with a prefix", post + chunked + "\r\n0x2\r\nab\r\n0\r\n\r\n", nil},
		{"a chunk size that overflows", post + chunked + "\r\n10000000000000002\r\nab\r\n0\r\n\r\n", nil},
		{"a chunk that ends in a bare LF", post + chunked + "\r\n2\r\nab\n0\r\n\r\n", []string{"POST /outer ab"}},
		{"a trailer that is a length", post + chunked + "Trailer: Content-Length\r\n\r\n0\r\nContent-Length: 33\r\n\r\n", []string{"POST /outer "}},
		{"a trailer that is a host", post + chunked + "\r\n0\r\nHost: b\r\n\r\n", []string{"POST /outer "}},
		{"a length named in Connection", post + "Connection: Content-Length\r\nContent-Length: 2\r\n\r\nab", []string{"POST /outer ab"}},
		{"a host named in Connection", post + "Connection: Host\r\nContent-Length: 2\r\n\r\nab", []string{"POST /outer ab"}},
		{"a body of GET", "GET /outer HTTP/1.1\r\nHost: a\r\nContent-Length: 33\r\n\r\n" + hidden, []string{"GET /outer " + hidden}},
		{"two hosts", "GET /outer HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", nil},
		{"a break in the target", "GET /outer%0d%0aX:%20y HTTP/1.1\r\nHost: a\r\n\r\n", []string{"GET /outer%0d%0aX:%20y "}},
		{"a break in the query", "GET /outer?\r\nX:y HTTP/1.1\r\nHost: a\r\n\r\n", nil},
		{"a host with a break", "GET http://a%0d%0ab/outer HTTP/1.1\r\nHost: a\r\n\r\n", nil},
		{"a target with a host of its own", "GET http://b/outer HTTP/1.1\r\nHost: a\r\n\r\n", []string{"GET /outer "}},
		{"an upgrade with a request behind it", "GET /outer HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 33\r\n\r\n" + hidden, []string{"GET /outer " + hidden}},
		{"a WebSocket that was not", "GET /outer HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 33\r\n\r\n" + hidden, []string{"GET /outer " + hidden}},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := &strict{}
			cfg := Config{Upstreams: []string{raw(t, up.serve)}}
			bothWays(t, cfg, nil, func(t *testing.T, url string, _ *Proxy) {
				up.mu.Lock()
				up.asked = nil
				up.mu.Unlock()
				attack(t, url, c.sent)
				up.mu.Lock()
				defer up.mu.Unlock()
				for _, w := range up.wrong {
					t.Errorf("at the upstream: got a violation of RFC 9112, want none: %s", w)
				}
				may := func(asked string) bool {
					for _, a := range c.asked {
						if a == asked {
							return true
						}
					}
					return false
				}
				for _, asked := range up.asked {
					if !may(asked) {
						t.Errorf("the upstream was asked %q, want %q at most", asked, c.asked)
					}
				}
				if len(up.asked) > 1 {
					t.Errorf("got %d requests at the upstream, want at most one", len(up.asked))
				}
			})
		})
	}
}

// The upstream has responded before the body turned out to be malformed. The bytes after it must
// not become a request either.
func TestSmugglingAfterAnEarlyResponse(t *testing.T) {
	var hidden atomic.Bool
	up := raw(t, func(c net.Conn) {
		if r, ok := request(c); ok && r.URL.Path == "/hidden" {
			hidden.Store(true)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		_, _ = io.Copy(io.Discard, c)
	})
	bothWays(t, Config{Upstreams: []string{up}}, nil, func(t *testing.T, url string, _ *Proxy) {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(webtest.WaitTimeout))
		_, _ = io.WriteString(c, "POST /outer HTTP/1.1\r\nHost: a\r\n"+chunked+"\r\n1\r\na\r\n")
		answer := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "HTTP/1.1 200" {
			t.Fatalf("got %q, %v, want HTTP/1.1 200", answer, err)
		}
		_, _ = io.WriteString(c, "zz\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
		if hidden.Load() {
			t.Error("got the hidden request at the upstream, want it rejected")
		}
	})
}

// attack sends bytes, and waits until the server closes the connection.
func attack(t *testing.T, url, sent string) {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(webtest.WaitTimeout))
	_, _ = io.WriteString(c, sent)
	answer := make([]byte, 1) // a client that has only closed its half before that counts as gone
	if _, err := io.ReadFull(c, answer); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a response", err)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	answer, err = io.ReadAll(c)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Errorf("got %q, want the connection to close", answer)
	}
}
