package basic

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"

	"weir/web"
)

// RequestIDConfig sets how [RequestID] names exchanges.
type RequestIDConfig struct {
	// Header is the field that carries the ID. Empty: "X-Request-ID".
	Header string `hcl:"header,optional"`
	// Trust keeps the ID of the request if it is valid. Use it only behind a proxy of your own.
	Trust bool `hcl:"trust,optional"`
}

// RequestID is a pipe that gives the exchange an ID of 26 random letters and digits. The ID is set
// in the field of the request, for upstreams and programs, in that of the response, and under
// [web.RequestID], for logs. With Trust, an ID of the request is kept if it has 1 to 128 letters,
// digits and -._:/+=@. Any other ID of the request is replaced.
func RequestID(cfg RequestIDConfig) (web.Component, error) {
	header := cmp.Or(cfg.Header, "X-Request-ID")
	if !httpguts.ValidHeaderFieldName(header) {
		return nil, fmt.Errorf("request_id: header is %q, which is not a valid field name", header)
	}
	return named("request_id", web.Pipe(func(c *web.Conn) {
		id := c.RequestHeader(header)
		if !cfg.Trust || !validID(id) {
			id = rand.Text()
			c.SetRequestHeader(header, id)
		}
		c.SetHeader(header, id)
		c.SetValue(web.RequestID, id)
	})), nil
}

// validID reports whether an ID can be passed to logs and programs unchanged.
func validID(id string) bool {
	for _, ch := range []byte(id) {
		letter := ch|0x20 >= 'a' && ch|0x20 <= 'z' || ch >= '0' && ch <= '9'
		if !letter && strings.IndexByte("-._:/+=@", ch) < 0 {
			return false
		}
	}
	return id != "" && len(id) <= 128
}
