package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/lab/load"
	"weir/lab/workload/http/httpload"
)

type httpCmd struct {
	URL string `arg:"" name:"url" help:"http://HOST:PORT/PATH, or https://."`

	requestFlags `embed:""`

	Connections    int           `short:"c" default:"64" help:"Connections; with --rate and --no-keep-alive the most requests at once."`
	Rate           *float64      `placeholder:"R" help:"Open loop: requests per second in total. Without it a closed loop: each connection sends its next request when the last is answered."`
	Pattern        string        `placeholder:"staggered" predictor:"patterns" help:"Arrival pattern of an open loop: staggered (evenly apart), together (all connections at once) or poisson (independent)."`
	Seed           uint64        `default:"1" help:"Seed of Poisson arrivals and of the order of --mix: the same seed has the same send times and order."`
	Requests       int64         `short:"n" placeholder:"N" help:"Stop after so many requests (closed loop only)."`
	NoKeepAlive    bool          `help:"Open a connection for each request."`
	HTTP2          bool          `name:"http2" help:"Use HTTP/2: by ALPN for https://, with prior knowledge (h2c) for http://."`
	Streams        int           `placeholder:"1" help:"HTTP/2: requests at once on each connection."`
	Timeout        time.Duration `default:"5s" help:"A request without an answer after this time, counted from its intended send time, has failed."`
	AcceptEncoding string        `placeholder:"gzip" enum:",gzip" default:"" help:"Accept bodies in gzip."`
	Expect         string        `placeholder:"FILE" predictor:"file" help:"The body that every answer must have (default: the body of the first answer)."`
	MaxErrors      int64         `placeholder:"N" help:"Stop after so many failures; of a ramp in one step."`
	Ramp           string        `placeholder:"FROM:TO:STEP" help:"Several rates, one after the other, each for --duration."`
	CoolDown       time.Duration `default:"1s" help:"Pause between two steps of a ramp."`
	Limit          time.Duration `default:"100ms" help:"For --knee alone: a p99 latency below this."`
	tlsFlags       `embed:""`
	loadFlags
}

// Help is the long part of the command's help.
func (c *httpCmd) Help() string {
	return `Every answer must be correct HTTP/1.1 or HTTP/2, with the expected status and body. A plain GET expects the status 200 and the body of --expect or of the first answer; a request that flags or --mix describe, what they say. Errors are counted by kind: connect, timeout, reset, closed, tls, status, body, length, sha256, match, json, protocol, stream and goaway (HTTP/2: the server reset the stream, or went away). The kinds limit (more requests at once than -c) and local (no port or descriptor left here) are faults of the generator, not of the server.

The report shows:

  connect     time to open a TCP connection; before the first request, or for each
  handshake   https: from there to the end of the TLS handshake
  waiting     from there, or from the request, to the first byte of the answer
  processing  from there to the last byte
  total       connect, handshake and processing
  from due    from the intended send time to the last byte: what a user waits
  lateness    of this program, for requests whose connection was free
  behind      requests whose connection was busy at their time: sent late, counted from that time

Examples:

  weir load http -c 64 -n 100000 http://127.0.0.1:8080/           closed loop, as ab -k -c 64 -n 100000
  weir load http -c 64 --rate 5000 --duration 30s http://127.0.0.1:8080/page.html
  weir load http -c 64 --rate 5000 --pattern poisson --seed 7 http://127.0.0.1:8080/
  weir load http -c 64 --no-keep-alive --ca cert.pem https://localhost:8443/     full TLS handshakes; with --resume resumed ones
  weir load http -c 1000 --rate 500 --no-keep-alive http://[::1]:8080/
  weir load http --method POST --header 'Content-Type: application/json' --body '{"n": 1}' --status 201 --json-field n=1 http://127.0.0.1:8080/items
  weir load http -c 64 --rate 5000 --mix requests.toml http://127.0.0.1:8080/    requests by weight; see docs/load-http.md
  weir load http -c 8 --http2 --streams 32 --rate 5000 --ca cert.pem https://localhost:8443/
  weir load http --ramp 1000:20000:1000 --duration 5s --max-errors 100 http://127.0.0.1:8080/
  weir load http --knee "p99 < 20ms" --expect www/page.html http://127.0.0.1:8080/page.html`
}

func (c *httpCmd) Run(ctx context.Context, t *terminal) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if config.TLS, err = c.tls(); err != nil {
		return err
	}
	if c.Expect != "" {
		text, release, err := httpload.ReadExpected(c.Expect)
		if err != nil {
			return usageError{fmt.Errorf("load: cannot read the expected body: %w", err)}
		}
		defer release()
		config.Expect = text
	}
	if config.Mix, err = c.mix(c.Expect != ""); err != nil {
		return asUsage(err)
	}
	return asUsage(c.send(ctx, t, config))
}

// send sends the load that the flags ask for.
func (c *httpCmd) send(ctx context.Context, t *terminal, config httpload.Config) error {
	if c.Ramp != "" {
		return c.runRamp(ctx, t, config)
	}
	return c.loadFlags.sendRequests(ctx, t, c.Limit, config)
}

// sendRequests sends requests, or searches for their knee.
func (f *loadFlags) sendRequests(ctx context.Context, t *terminal, limit time.Duration, config httpload.Config) error {
	if f.Knee.given && (limit <= 0 || limit > config.Timeout) {
		return usageError{fmt.Errorf("load: a limit of %v is out of range: give more than 0 and at most the timeout, %v", limit, config.Timeout)}
	}
	s := sender[httpload.Config, httpload.Report, *httpload.Report]{loadFlags: *f, unit: "answered", run: httpload.Run,
		minRate: load.MinRate, maxRate: httpload.MaxRate, limit: limit,
		atRate: func(to httpload.Config, rate float64) httpload.Config {
			if to.Rate = rate; rate == 0 {
				to.Pattern = ""
			}
			return to
		}}
	_, err := s.send(ctx, t, config)
	return err
}

func (c *httpCmd) config() (httpload.Config, error) {
	config := httpload.Config{URL: c.URL, Connections: c.Connections, Requests: c.Requests, Close: c.NoKeepAlive, HTTP2: c.HTTP2, Streams: c.Streams, Pattern: c.Pattern, Seed: c.Seed, Timeout: c.Timeout,
		Gzip: c.AcceptEncoding == "gzip", MaxErrors: c.MaxErrors, CPUs: c.CPUs, Histograms: c.Histograms}
	if c.Duration != nil || c.Requests == 0 {
		config.Duration = c.length()
	}
	if err := c.oneLoad(); err != nil {
		return config, err
	}
	if c.Rate != nil {
		if config.Rate = *c.Rate; config.Rate == 0 {
			return config, usageError{errors.New("load: --rate is 0: give a positive rate, or leave --rate out for a closed loop")}
		}
	}
	return config, nil
}

// oneLoad rejects flags that ask for two loads at once.
func (c *httpCmd) oneLoad() error {
	var loads []string
	for name, given := range map[string]bool{"--rate": c.Rate != nil, "-n": c.Requests > 0, "--ramp": c.Ramp != "", "--knee": c.Knee.given} {
		if given {
			loads = append(loads, name)
		}
	}
	if c.Steer && (c.Requests > 0 || c.Ramp != "" || c.Knee.given) {
		return usageError{errors.New("load: only a closed loop or a single rate can be steered: leave -n, --ramp and --knee out")}
	}
	if len(loads) > 1 {
		return usageError{errors.New("load: --rate, -n, --ramp and --knee are four different loads: give one of them")}
	}
	return nil
}

// runRamp measures one rate after the other.
func (c *httpCmd) runRamp(ctx context.Context, t *terminal, config httpload.Config) error {
	rates, err := httpload.ParseRamp(c.Ramp)
	if err != nil {
		return err
	}
	if c.CoolDown < 0 {
		return usageError{fmt.Errorf("load: a cool-down of %v is out of range: give 0 or more", c.CoolDown)}
	}
	if !c.JSON {
		fmt.Fprintln(t.out, load.StepTitle)
	}
	steps, err := httpload.RunRamp(ctx, config, rates, c.CoolDown, watch(t, "answered"), func(r httpload.Report) {
		clearLive(t)
		if !c.JSON {
			fmt.Fprintln(t.out, r.StepText())
		}
	})
	clearLive(t)
	if c.JSON && len(steps) > 0 {
		err = errors.Join(err, t.json(map[string]any{"steps": steps}))
	}
	return err
}
