package main

import (
	"context"
	"errors"
	"time"

	"weir/lab/load"
	"weir/lab/workload/http/wsload"
)

type wsCmd struct {
	URL string `arg:"" name:"url" help:"ws://HOST:PORT/PATH, or wss://."`

	Connections int           `short:"c" default:"64" help:"Connections, which stay open for the whole run."`
	Rate        *float64      `placeholder:"R" help:"Open loop: messages per second in total. Without it a closed loop: each connection sends its next message when the last is echoed."`
	Pattern     string        `placeholder:"staggered" predictor:"patterns" help:"Arrival pattern of an open loop: staggered (evenly apart), together (all connections at once) or poisson (independent)."`
	Seed        uint64        `default:"1" help:"Seed of Poisson arrivals: the same seed has the same send times."`
	Size        int           `default:"100" help:"Bytes per message."`
	Text        bool          `help:"Send text messages instead of binary ones."`
	Message     string        `help:"Content of every text message, instead of --size bytes that differ." placeholder:"TEXT"`
	Any         bool          `help:"Any message of the server is the answer to the first that has none, instead of its echo."`
	Count       bool          `help:"Only count the messages that come, instead of comparing echoes; without --rate nothing is sent."`
	Headers     []string      `name:"header" sep:"none" placeholder:"'NAME: VALUE'" help:"A header field of the upgrade. May be repeated. Other users of the machine see it."`
	Timeout     time.Duration `default:"5s" help:"A message without an echo after this time, counted from its intended send time, has failed."`
	Limit       time.Duration `default:"100ms" help:"For --knee alone: a p99 latency below this."`
	tlsFlags    `embed:""`
	loadFlags
}

// Help is the long part of the command's help.
func (c *wsCmd) Help() string {
	return `Every connection is opened by an upgrade, and closed by a Close frame after the run. The server must echo every message in order, with the same type; contents differ between messages. With --any an answer may be any message. With --count what comes is only counted. Pings are answered. Errors are counted by kind: connect, tls, upgrade, timeout, reset, closed (without a Close frame), close (the server sent one), echo (not the message), protocol, and lost (due on a connection that was lost before).

The report shows:

  connect    time to open a TCP connection
  handshake  wss: from there to the end of the TLS handshake
  upgrade    from there to the answer of the upgrade
  latency    from the intended send time to the last byte of the echo
  lateness   actual minus intended send time, for messages whose connection had room
  behind     messages whose connection was full at their time: sent late, counted from that time

Examples:

  weir load ws -c 64 ws://127.0.0.1:8080/echo                   closed loop
  weir load ws -c 1000 --rate 20000 --size 200 --text ws://127.0.0.1:8080/echo
  weir load ws -c 1000 --rate 5000 --pattern poisson --seed 7 ws://127.0.0.1:8080/echo
  weir load ws -c 10000 --count --duration 60s ws://127.0.0.1:8080/news    subscribers that only listen
  weir load ws -c 64 --ca cert.pem wss://localhost:8443/echo
  weir load ws -c 64 --knee "p99 < 5ms" ws://127.0.0.1:8080/echo`
}

func (c *wsCmd) Run(ctx context.Context, t *terminal) error {
	config := wsload.Config{URL: c.URL, Headers: c.Headers, Connections: c.Connections, Pattern: c.Pattern, Seed: c.Seed, Size: c.Size, Text: c.Text || c.Message != "", Message: c.Message, Echo: !c.Count, Any: c.Any,
		Duration: c.length(), Timeout: c.Timeout, CPUs: c.CPUs, Histograms: c.Histograms}
	if c.Message != "" {
		config.Size = len(c.Message)
	}
	var err error
	if config.TLS, err = c.tls(); err != nil {
		return err
	}
	if c.Rate != nil {
		if config.Rate = *c.Rate; config.Rate == 0 {
			return usageError{errors.New("load: --rate is 0: give a positive rate, or leave --rate out for a closed loop")}
		}
	}
	switch {
	case c.Knee.given && (c.Count || c.Rate != nil):
		return usageError{errors.New("load: a knee is of the latency of echoes at any rate: leave --count and --rate out")}
	case c.Knee.given && (c.Limit <= 0 || c.Limit > c.Timeout):
		return usageError{errors.New("load: the limit of the latency is out of range: give more than 0 and at most the timeout")}
	}
	s := sender[wsload.Config, wsload.Report, *wsload.Report]{loadFlags: c.loadFlags, unit: "done", run: wsload.Run,
		minRate: load.MinRate, maxRate: wsload.MaxRate, limit: c.Limit,
		atRate: func(to wsload.Config, rate float64) wsload.Config {
			if to.Rate = rate; rate == 0 {
				to.Pattern = ""
			}
			return to
		}}
	_, err = s.send(ctx, t, config)
	return err
}
