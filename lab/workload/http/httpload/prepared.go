package httpload

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	nethttp "net/http"
	"sort"

	"weir/lab/internal/schedule"
	"weir/lab/workload/http/httpload/h2"
	"weir/lab/workload/http/httpload/response"
)

// prepared is a request that is ready to be sent, with the checks of its answers. It belongs to the
// loop's thread.
type prepared struct {
	Request
	wire      []byte      // over HTTP/1.1
	http2     *h2.Request // over HTTP/2; nil: not used
	label     string      // starts the details of its errors; empty: it is the only request
	low, high int         // expected status
	learned   bool        // the first answer decides what is expected
	exact     *bodies
	parts     *partCheck     // nil: the body is checked by exact
	known     response.Known // head of its answers
	report    MixReport
}

// isExpectedStatus reports whether status is an expected one.
func (p *prepared) isExpectedStatus(status int) bool { return p.low <= status && status <= p.high }

// isHead reports whether answers have no body.
func (p *prepared) isHead() bool { return p.Method == nethttp.MethodHead }

// feed takes the next piece of a body.
func (p *prepared) feed(b *body, piece []byte, coding response.Coding) {
	if p.exact != nil {
		p.exact.feed(b, piece, coding)
	} else {
		p.parts.feed(b, piece, coding)
	}
}

// prepare returns the requests of c, which must be valid.
func (c *Config) prepare() []*prepared {
	mix := c.Mix
	if len(mix) == 0 {
		mix = []Request{{Check: Check{Same: c.Expect == nil}}}
	}
	all := make([]*prepared, len(mix))
	for i, r := range mix {
		p := &prepared{Request: r, wire: r.encode(c), learned: r.Check.Same}
		p.low, p.high, _ = r.Status.span()
		if r.GRPC {
			p.low, p.high = nethttp.StatusOK, nethttp.StatusOK
		}
		if c.HTTP2 {
			p.http2 = r.requestHTTP2(c)
		}
		if len(mix) > 1 {
			p.label, p.report.Request = r.name()+": ", r.name()
		}
		switch {
		case c.Expect != nil:
			p.exact = &bodies{want: c.Expect, gzip: c.Gzip}
		case r.Check.Same || r.Check.Body != nil:
			p.exact = &bodies{want: []byte(r.Check.body()), gzip: c.Gzip}
		default:
			p.parts = newPartCheck(r.Check, c.Gzip)
		}
		all[i] = p
	}
	return all
}

// mixer chooses requests by their weights. A choice is a function of the seed and of what it is
// for.
type mixer struct {
	requests []*prepared
	sums     []uint64 // of the weights up to each request
	seed     uint64
}

func newMixer(requests []*prepared, seed uint64) mixer {
	m := mixer{requests: requests, seed: seed}
	sum := uint64(0)
	for _, r := range requests {
		sum += uint64(max(r.Weight, 1))
		m.sums = append(m.sums, sum)
	}
	return m
}

// choose returns request k of connection i.
func (m *mixer) choose(i int, k uint64) *prepared {
	if len(m.requests) == 1 {
		return m.requests[0]
	}
	hash := schedule.Mix(schedule.Mix(^m.seed^schedule.Mix(uint64(i)+1)) + k)
	at, _ := bits.Mul64(hash, m.sums[len(m.sums)-1])
	return m.requests[sort.Search(len(m.sums), func(j int) bool { return m.sums[j] > at })]
}

// learnFrom makes the body of the first answer the expected one.
func (p *prepared) learnFrom(status int, text []byte, coding response.Coding) error {
	switch {
	case !p.isExpectedStatus(status):
		return fmt.Errorf("status %d %s: give a URL with the status %s", status, nethttp.StatusText(status), cmp.Or(p.Status, "200"))
	case coding == response.OtherCoding || coding == response.Gzip && !p.exact.gzip:
		return errors.New("its body has a content coding that was not requested")
	}
	return p.exact.learn(text, coding)
}
