package webtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Client returns a client with connections of its own that shows responses as received: it decodes
// nothing and follows no redirect.
func Client(t testing.TB) *http.Client {
	c := newClient()
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       WaitTimeout,
	}
}

// Get sends a GET request as Do does.
func Get(t testing.TB, url string, header ...string) (*http.Response, string) {
	t.Helper()
	return Do(t, "GET", url, nil, header...)
}

// Do sends a request with a client like Client's, on a connection of its own.
func Do(t testing.TB, method, url string, body io.Reader, header ...string) (*http.Response, string) {
	t.Helper()
	c := newClient()
	defer c.CloseIdleConnections()
	return Fetch(t, c, method, url, body, header...)
}

// Fetch sends a request and returns the response with its whole body. header alternates names and
// values: "Accept", "text/plain", "Range", "bytes=0-1". Names are sent as written, not in canonical
// form. The field Host sets the requested host. The body may be nil.
func Fetch(t testing.TB, c *http.Client, method, url string, body io.Reader, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = append(r.Header[header[i]], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(all)
}

// Raw sends a request with a request line as written, such as "GET /a/../b HTTP/1.0", on a
// connection of its own. It returns the response and its whole body. fields alternates names and
// values. Raw itself sends Host: test and Connection: close, so fields must not have these names.
func Raw(t testing.TB, url, line string, fields ...string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(WaitTimeout))
	request := fmt.Appendf(nil, "%s\r\nHost: test\r\nConnection: close\r\n", line)
	for i := 0; i < len(fields); i += 2 {
		request = fmt.Appendf(request, "%s: %s\r\n", fields[i], fields[i+1])
	}
	// One write: a server that rejects the first line and closes before it has read the others
	// would reset the connection, and the response could be lost. An error shows in the response.
	_, _ = c.Write(append(request, "\r\n"...))
	method, _, _ := strings.Cut(line, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return resp, string(body)
}
