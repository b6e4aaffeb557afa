package main

import (
	"cmp"
	"context"
	"errors"

	"weir/lab/load"
	"weir/lab/workload/stream/streamload"
)

type streamCmd struct {
	Target string `arg:"" help:"HOST:PORT of the server; an IPv6 address stands in brackets."`

	Connections int      `short:"c" default:"64" help:"Connections that send; 0 with --idle or --churn alone."`
	Rate        *float64 `name:"rate-per-connection" placeholder:"125" help:"Messages per second on each connection."`
	Size        int      `default:"1000" help:"Bytes per message."`
	Pattern     string   `placeholder:"staggered" predictor:"patterns" help:"Arrival pattern: staggered (evenly apart), together (all connections at once) or poisson (independent)."`
	Seed        uint64   `default:"1" help:"Seed of the Poisson arrivals."`
	Echo        bool     `help:"The server echoes everything: check every byte and measure the latency of every message."`
	Bits        float64  `placeholder:"1e6" help:"Instead of a rate of messages: bits per second on each connection, in small writes as tcpkali makes them."`
	Idle        int      `placeholder:"N" help:"Idle connections, held open beside the others."`
	Churn       float64  `placeholder:"RATE" help:"Short connections per second beside the others: connect, send one message, close."`
	loadFlags

	OldRate *float64 `name:"rate" hidden:"" old:"--rate-per-connection" placeholder:"125"`
}

// Help is the long part of the command's help.
func (c *streamCmd) Help() string {
	return `An open loop: the send time of every message is fixed before the first is sent, and latency counts from it, so that coordinated omission is not possible. A connection that the server does not read keeps its schedule: overdue messages are sent as soon as there is room, and counted as behind.

The report shows:

  lateness   actual minus intended send time; the generator's own, unless connections were full
  gaps       time between the messages of one connection; 1/rate if evenly apart
  latency    from the intended send time to the last byte of the echo
  behind     messages that found their connection full
  own CPU    of the generator, and how long its threads waited for a core

Examples:

  weir load stream 127.0.0.1:7000                               64 connections x 125/s x 1000 bytes, 10 s
  weir load stream -c 1000 --rate-per-connection 10 --pattern together [::1]:7000
  weir load stream --echo --json --duration 30s example.org:7   latency of echoes
  weir load stream --bits 1e6 --size 8 127.0.0.1:7000           as tcpkali --channel-bandwidth-upstream 1Mbps
  weir load stream --echo --knee "p99 < 2ms" 127.0.0.1:7        the highest rate of all connections with such echoes
  weir load stream -c 0 --idle 5000 --churn 100 127.0.0.1:7000  only idle and short connections`
}

func (c *streamCmd) config() streamload.Config {
	rate := 125.0
	if given := cmp.Or(c.Rate, c.OldRate); given != nil {
		rate = *given
	} else if c.Bits != 0 {
		rate = 0
	}
	return streamload.Config{Target: c.Target, Connections: c.Connections, Rate: rate, Size: c.Size, Pattern: c.Pattern, Duration: c.length(),
		Seed: c.Seed, Echo: c.Echo, Bits: c.Bits, Idle: c.Idle, Churn: c.Churn, CPUs: c.CPUs, Histograms: c.Histograms}
}

func (c *streamCmd) Run(ctx context.Context, t *terminal) error {
	config := c.config()
	if c.Knee.given && (!c.Echo || c.Connections == 0) {
		return usageError{errors.New("load: a knee is of the latency of echoes: give --echo and connections with --knee")}
	}
	s := sender[streamload.Config, streamload.Report, *streamload.Report]{loadFlags: c.loadFlags, unit: "sent", run: streamload.Run,
		minRate: load.MinRate * float64(c.Connections), maxRate: min(streamload.MaxTotalRate, streamload.MaxRate*float64(c.Connections)), from: config.Rate * float64(c.Connections), limit: defaultLimit,
		atRate: func(to streamload.Config, rate float64) streamload.Config {
			to.Rate = rate / float64(to.Connections)
			return to
		}}
	_, err := s.send(ctx, t, config)
	return err
}
