package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"weir/lab/workload/http/httpload"
)

// grpcCmd is "weir load grpc".
type grpcCmd struct {
	URL string `arg:"" name:"url" help:"http://HOST:PORT/PACKAGE.SERVICE/METHOD, or https://."`

	Message     string   `placeholder:"HEX|@FILE" help:"Message of the call in hexadecimal, as protobuf encodes it, or @FILE with it as it is (default: an empty message)."`
	Metadata    []string `sep:"none" placeholder:"'NAME: VALUE'" help:"Metadata of the call. May be repeated. Other users of the machine see it."`
	Status      string   `placeholder:"OK" help:"Status that every answer must have: a number, or a name such as NOT_FOUND."`
	Same        bool     `help:"The message of every answer must be that of the first."`
	Reply       string   `placeholder:"HEX|@FILE" help:"Message that every answer must have."`
	ReplyLength *int64   `placeholder:"BYTES" help:"Length that the message of every answer must have."`
	ReplySHA256 string   `name:"reply-sha256" placeholder:"HEX" help:"SHA-256 that the message of every answer must have."`

	Connections int           `short:"c" default:"8" help:"Connections."`
	Streams     int           `default:"1" help:"Calls at once on each connection."`
	Rate        *float64      `placeholder:"R" help:"Open loop: calls per second in total. Without it a closed loop: each stream sends its next call when the last is answered."`
	Pattern     string        `placeholder:"staggered" predictor:"patterns" help:"Arrival pattern of an open loop: staggered (evenly apart), together (all streams at once) or poisson (independent)."`
	Seed        uint64        `default:"1" help:"Seed of Poisson arrivals: the same seed has the same send times."`
	Calls       int64         `short:"n" placeholder:"N" help:"Stop after so many calls (closed loop only)."`
	Timeout     time.Duration `default:"5s" help:"A call without an answer after this time, counted from its intended send time, has failed."`
	MaxErrors   int64         `placeholder:"N" help:"Stop after so many failures."`
	Limit       time.Duration `default:"100ms" help:"For --knee alone: a p99 latency below this."`
	tlsFlags    `embed:""`
	loadFlags
}

// Help is the long part of the command's help.
func (c *grpcCmd) Help() string {
	return `Makes unary calls over HTTP/2: by ALPN for https://, with prior knowledge (h2c) for http://. Every answer must have the expected status in its trailers and, if that is OK, one whole message that is not compressed. Errors are counted by kind: "grpc" and the name of the unexpected status, such as "grpc UNAVAILABLE"; "grpc no status" (the server does not speak gRPC there, or trailers are dropped on the way); message (not one whole message); body, length and sha256 (another message than expected); and those of weir load http. The report is that of weir load http.

Examples:

  weir load grpc --message 0a05776f726c64 http://127.0.0.1:50051/helloworld.Greeter/SayHello             closed loop
  weir load grpc -c 8 --streams 32 --rate 5000 --same --message @hello.bin http://127.0.0.1:50051/helloworld.Greeter/SayHello
  weir load grpc --status NOT_FOUND --metadata 'user: ann' http://127.0.0.1:50051/shop.Items/Get
  weir load grpc --knee "p99 < 10ms" --ca cert.pem https://localhost:8443/grpc.health.v1.Health/Check`
}

func (c *grpcCmd) Run(ctx context.Context, t *terminal) error {
	config, err := c.config()
	if err == nil {
		config.TLS, err = c.tls()
	}
	if err != nil {
		return asUsage(err)
	}
	return asUsage(c.sendRequests(ctx, t, c.Limit, config))
}

// config returns the load that the flags ask for.
func (c *grpcCmd) config() (httpload.Config, error) {
	call, err := c.call()
	config := httpload.Config{URL: c.URL, Mix: []httpload.Request{call}, HTTP2: true, Connections: c.Connections, Streams: c.Streams, Requests: c.Calls, Pattern: c.Pattern, Seed: c.Seed,
		Timeout: c.Timeout, MaxErrors: c.MaxErrors, CPUs: c.CPUs, Histograms: c.Histograms}
	if c.Duration != nil || c.Calls == 0 {
		config.Duration = c.length()
	}
	if c.Rate != nil {
		config.Rate = *c.Rate
	}
	switch {
	case err != nil:
	case c.Rate != nil && *c.Rate == 0:
		err = usageError{errors.New("load: --rate is 0: give a positive rate, or leave --rate out for a closed loop")}
	case c.Knee.given && (c.Rate != nil || c.Calls > 0):
		err = usageError{errors.New("load: a knee is searched for at any rate: leave --rate and -n out")}
	}
	return config, err
}

// call returns the call that the flags describe.
func (c *grpcCmd) call() (httpload.Request, error) {
	r := httpload.Request{GRPC: true, Headers: c.Metadata, Status: httpload.Status(c.Status),
		Check: httpload.Check{Same: c.Same, Length: c.ReplyLength, SHA256: c.ReplySHA256}}
	if file, isFile := strings.CutPrefix(c.Message, "@"); isFile {
		r.BodyFile = file
	} else {
		r.BodyHex = c.Message
	}
	if file, isFile := strings.CutPrefix(c.Reply, "@"); isFile {
		r.Check.BodyFile = file
	} else if c.Reply != "" {
		r.Check.BodyHex = &c.Reply
	}
	return r, r.ReadFiles(".")
}
