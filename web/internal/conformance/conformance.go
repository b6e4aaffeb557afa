package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
)

// Row is a request with the answer to it.
type Row struct {
	Name    string // unique
	Section string // "9112, 3.2" is RFC 9112, section 3.2
	Input   string // bytes of the client
	Want    string // the answer, in the notation of the package comment
}

// Next is the request that follows every input.
const Next = "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

// Rows returns the whole table.
func Rows() (all []Row) {
	for _, part := range [][]Row{targets, requestLines, hosts, fields, lengths, codings, chunks, trailers, connections, exchanges} {
		all = append(all, part...)
	}
	return all
}

// Stricter are the rows that are rejected here although the RFCs ask a recipient to accept them,
// with the reason.
var Stricter = map[string]string{
	"an empty element before chunked":              "a recipient must ignore empty list elements (RFC 9110, section 5.6.1.2), but servers differ in it: a way to smuggle requests",
	"an empty element behind chunked":              "a recipient must ignore empty list elements (RFC 9110, section 5.6.1.2), but servers differ in it: a way to smuggle requests",
	"an empty line at the start of the connection": "a server should ignore one (RFC 9112, section 2.2), but only clients of the past sent one, behind a POST",
	"an empty line behind a GET":                   "a server should ignore one (RFC 9112, section 2.2), but only clients of the past sent one, behind a POST",
	"HTTP/1.2":                                     "a recipient should read it as HTTP/1.1 (RFC 9110, section 2.5), but the version does not exist",
}

// Request is what a server has understood of a request.
type Request struct {
	Method, Target, Host, Content string
	X, Trailer                    []string // values of the field X and the trailer field T
}

// String returns the request in the notation of the package comment.
func (r Request) String() string {
	var b strings.Builder
	b.WriteString(r.Method + " " + r.Target)
	if r.Host != "a" {
		b.WriteString(" @" + r.Host)
	}
	if len(r.Content) > 30 {
		fmt.Fprintf(&b, " [%d bytes]", len(r.Content))
	} else if r.Content != "" {
		b.WriteString(" [" + r.Content + "]")
	}
	for _, v := range r.X {
		b.WriteString(" X=" + strconv.QuoteToASCII(v))
	}
	for _, v := range r.Trailer {
		b.WriteString(" T=" + strconv.QuoteToASCII(v))
	}
	return b.String()
}

// seen is the field of a response that has the request, as the handler has received it.
const seen = "Seen"

// Handler answers each request with what it has received, in a field, and without content. It
// refuses to make tunnels.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "the content is malformed", http.StatusBadRequest)
			return
		}
		w.Header().Set(seen, strconv.QuoteToASCII(Request{
			Method: r.Method, Target: r.RequestURI, Host: r.Host, Content: string(content), X: r.Header["X"], Trailer: r.Trailer["T"],
		}.String()))
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	})
}

// Answer returns the responses to an input and Next, up to the end of the connection, in the
// notation of the package comment.
func Answer(responses io.Reader) string {
	r := bufio.NewReader(responses)
	var parts []string
	for {
		part, err := readResponse(r)
		if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return Join(parts)
		}
		if err != nil {
			return Join(append(parts, err.Error()))
		}
		parts = append(parts, part)
	}
}

func readResponse(r *bufio.Reader) (string, error) {
	if _, err := r.Peek(1); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return "", err
	}
	if request, err := strconv.Unquote(resp.Header.Get(seen)); err == nil {
		return request, nil // the response has no content
	}
	if resp.StatusCode >= 200 {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return strconv.Itoa(resp.StatusCode), err
}

// Join returns the answer that consists of these parts, for an input and Next. "GET /next" as the
// last one shows that the connection went on.
func Join(parts []string) string {
	n := len(parts)
	switch {
	case n == 0:
		return "nothing"
	case parts[n-1] != "GET /next" && isStatus(parts[n-1]):
		return strings.Join(parts, ", ")
	case parts[n-1] != "GET /next":
		return strings.Join(parts, ", ") + "; close"
	case n > 1 && isStatus(parts[n-2]):
		return strings.Join(parts[:n-1], ", ") + "; open"
	}
	return strings.Join(parts[:n-1], ", ")
}

func isStatus(part string) bool { _, err := strconv.Atoi(part); return err == nil }
