package basic

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"

	"weir/web"
)

// RequestIDConfig says how [RequestID] names exchanges.
type RequestIDConfig struct {
	Header string `hcl:"header,optional"` // the field; empty: X-Request-ID
	// take over the name that the request has, if it is a proper one: behind a proxy of your own
	Trust bool `hcl:"trust,optional"`
}

// RequestID is a pipe that names the exchange. The name stands in the field of the request, for
// upstreams and programs, in that of the response, and under [web.RequestID], for logs. A new one
// has 26 random letters and digits. Names of 1 to 128 letters, digits and -._:/+=@ are taken over;
// a request that is not trusted loses the one it has.
func RequestID(cfg RequestIDConfig) (web.Component, error) {
	header := cmp.Or(cfg.Header, "X-Request-ID")
	if !httpguts.ValidHeaderFieldName(header) {
		return nil, fmt.Errorf("request_id: header is %q, which is no name of a field", header)
	}
	return named("request_id", web.Pipe(func(c *web.Conn) {
		id := c.RequestHeader(header)
		if !cfg.Trust || !properID(id) {
			id = rand.Text()
			c.SetRequestHeader(header, id)
		}
		c.SetHeader(header, id)
		c.SetValue(web.RequestID, id)
	})), nil
}

// properID says whether a name can be passed on to logs and programs as it is.
func properID(id string) bool {
	for _, ch := range []byte(id) {
		letter := ch|0x20 >= 'a' && ch|0x20 <= 'z' || ch >= '0' && ch <= '9'
		if !letter && strings.IndexByte("-._:/+=@", ch) < 0 {
			return false
		}
	}
	return id != "" && len(id) <= 128
}
