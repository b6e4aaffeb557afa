package basic

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/http/httpguts"

	"weir/web"
	"weir/web/components/internal/bucket"
	"weir/web/components/internal/unit"
	"weir/web/internal/client"
)

// LimitRateConfig sets how often a client may send requests through [LimitRate].
type LimitRateConfig struct {
	Rate float64 `hcl:"rate"`         // Rate is the number of requests in each Per, more than 0.
	Per  string  `hcl:"per,optional"` // Per is the duration that Rate is for. Empty: "1s".
	// Burst is the number of requests that may come at once after a pause. 0: as many as Rate, at
	// least 1.
	Burst int `hcl:"burst,optional"`
	// Header is a request field that identifies the client, where the request has it. Empty: the
	// client's address identifies it.
	Header string `hcl:"header,optional"`
	// HeaderFromProxyOnly ignores Header in requests that no trusted proxy has passed on.
	HeaderFromProxyOnly bool
	// Clients is the number of clients that are tracked; the least recently seen are forgotten
	// first. 0: 65,536.
	Clients int `hcl:"clients,optional"`
}

// LimitRate is a pipe with a token bucket for each client. It answers 429 with Retry-After when the
// client's bucket is empty. Responses carry RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers). IPv6 addresses count by their /64 prefix, which one
// customer has.
//
// Put it before the source. Use Header only behind a component that has authenticated the field: a
// client that invents values would get a new bucket for each. Exchanges that have an answer are not
// limited.
func LimitRate(cfg LimitRateConfig) (web.Component, error) {
	per, err := unit.Duration("limit_rate: per", cfg.Per, time.Second)
	switch {
	case err != nil:
		return nil, err
	case !(cfg.Rate > 0) || math.IsInf(cfg.Rate, 0):
		return nil, fmt.Errorf("limit_rate: rate is %v: write the number of requests that a client may send, more than 0", cfg.Rate)
	case cfg.Burst < 0 || cfg.Clients < 0:
		return nil, fmt.Errorf("limit_rate: burst is %d and clients is %d: neither may be negative", cfg.Burst, cfg.Clients)
	case cfg.Header != "" && !httpguts.ValidHeaderFieldName(cfg.Header):
		return nil, fmt.Errorf("limit_rate: header is %q, which is not a valid field name", cfg.Header)
	}
	burst := cmp.Or(cfg.Burst, max(1, int(min(cfg.Rate, 1<<20))))
	interval := float64(per) / cfg.Rate
	if interval < 1 || interval*float64(burst) > float64(maxRefill) {
		return nil, fmt.Errorf("limit_rate: %v requests in %v with a burst of %d: write at most one request a nanosecond, and a burst that refills within a year", cfg.Rate, per, burst)
	}
	l := &rateLimiter{
		buckets: bucket.New(time.Duration(interval), burst, cmp.Or(cfg.Clients, 1<<16)), header: cfg.Header, headerFromProxyOnly: cfg.HeaderFromProxyOnly, epoch: time.Now(),
		policyField: web.NewField("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, burst, seconds(time.Duration(interval*float64(burst))))),
	}
	return web.WithTraits(web.Pipe(l.handle), web.Traits{Name: "limit_rate", InProcess: "rates of clients"}), nil
}

// maxRefill is the longest time that a bucket may take to fill.
const maxRefill = 365 * 24 * time.Hour

type rateLimiter struct {
	buckets             *bucket.Buckets
	header              string
	headerFromProxyOnly bool      // ignore header in requests that no trusted proxy has passed on
	epoch               time.Time // the epoch of the buckets' clock
	policyField         web.Field
}

func (l *rateLimiter) handle(c *web.Conn) {
	if c.Answered() {
		return
	}
	s := l.buckets.Take(l.client(c), time.Since(l.epoch))
	if !s.OK {
		c.Reply(http.StatusTooManyRequests)
		c.SetHeader("Retry-After", strconv.Itoa(seconds(s.UntilToken)))
	}
	c.SetField(l.policyField)
	c.SetHeader("RateLimit", `"default";r=`+strconv.Itoa(s.Remaining)+";t="+strconv.Itoa(seconds(s.UntilFull)))
}

// client identifies the client of a request.
func (l *rateLimiter) client(c *web.Conn) bucket.Client {
	if l.header != "" && !(l.headerFromProxyOnly && client.ProxyAddr(c.Context()) == "") {
		if key := c.RequestHeader(l.header); key != "" {
			return bucket.Client{Key: key}
		}
	}
	return bucket.Client{Addr: client.Network(c.RemoteAddr())}
}

// seconds returns d in whole seconds, rounded up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
