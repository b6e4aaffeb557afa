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

// LimitRateConfig says how often a client may come to [LimitRate].
type LimitRateConfig struct {
	Rate float64 `hcl:"rate"`         // requests in each Per, more than 0
	Per  string  `hcl:"per,optional"` // the time that Rate is for; empty: "1s"
	// requests at once, after a pause; 0: as many as Rate, at least 1
	Burst int `hcl:"burst,optional"`
	// clients are told apart by this field of the request where it is there; empty: by their
	// addresses
	Header string `hcl:"header,optional"`
	// Header counts only in requests that one of the server's trusted fronts has passed on
	Fronts bool
	// so many are told apart; 0: 65,536. Beyond, those are forgotten that have not come for longest
	Clients int `hcl:"clients,optional"`
}

// LimitRate is a pipe that answers clients which come too often by 429 with Retry-After, by a token
// bucket for each. All learn where they stand from RateLimit-Policy and RateLimit, as in the draft
// of those fields (draft-ietf-httpapi-ratelimit-headers). Addresses of version 6 count by their
// first 64 bits, which is what a customer has. Put it before the source, and tell clients apart by
// a field only behind something that has authenticated it: else whoever invents a value for it
// starts anew. Answers that are there are left alone.
func LimitRate(cfg LimitRateConfig) (web.Component, error) {
	per, err := unit.Duration("limit_rate: per", cfg.Per, time.Second)
	switch {
	case err != nil:
		return nil, err
	case !(cfg.Rate > 0) || math.IsInf(cfg.Rate, 0):
		return nil, fmt.Errorf("limit_rate: rate is %v: write how many requests a client may make, more than 0", cfg.Rate)
	case cfg.Burst < 0 || cfg.Clients < 0:
		return nil, fmt.Errorf("limit_rate: burst is %d and clients is %d: neither can be less than 0", cfg.Burst, cfg.Clients)
	case cfg.Header != "" && !httpguts.ValidHeaderFieldName(cfg.Header):
		return nil, fmt.Errorf("limit_rate: header is %q, which is no name of a field", cfg.Header)
	}
	burst := cmp.Or(cfg.Burst, max(1, int(min(cfg.Rate, 1<<20))))
	interval := float64(per) / cfg.Rate
	if interval < 1 || interval*float64(burst) > float64(maxRefill) {
		return nil, fmt.Errorf("limit_rate: %v requests in %v with a burst of %d: a request must take a nanosecond at least, and a burst a year at most", cfg.Rate, per, burst)
	}
	l := &rateLimit{
		buckets: bucket.New(time.Duration(interval), burst, cmp.Or(cfg.Clients, 1<<16)), header: cfg.Header, fronts: cfg.Fronts, start: time.Now(),
		policy: web.NewField("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, burst, seconds(time.Duration(interval*float64(burst))))),
	}
	return named("limit_rate", web.Pipe(l.handle)), nil
}

// maxRefill is the longest that a bucket may take to fill.
const maxRefill = 365 * 24 * time.Hour

type rateLimit struct {
	buckets *bucket.Buckets
	header  string
	fronts  bool      // header counts only from there
	start   time.Time // of the clock that the buckets have
	policy  web.Field
}

func (l *rateLimit) handle(c *web.Conn) {
	if c.Answered() {
		return
	}
	s := l.buckets.Take(l.client(c), time.Since(l.start))
	if !s.OK {
		c.Reply(http.StatusTooManyRequests)
		c.SetHeader("Retry-After", strconv.Itoa(seconds(s.UntilToken)))
	}
	c.SetField(l.policy)
	c.SetHeader("RateLimit", `"default";r=`+strconv.Itoa(s.Remaining)+";t="+strconv.Itoa(seconds(s.UntilFull)))
}

// client is who has sent the request.
func (l *rateLimit) client(c *web.Conn) bucket.Client {
	if l.header != "" && !(l.fronts && client.ProxyAddr(c.Context()) == "") {
		if key := c.RequestHeader(l.header); key != "" {
			return bucket.Client{Key: key}
		}
	}
	return bucket.Client{Addr: client.Network(c.RemoteAddr())}
}

// seconds are whole ones, rounded up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
