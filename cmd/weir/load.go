package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"weir/lab/load"
	"weir/lab/workload/stream/streamload"
)

type loadCmd struct {
	Stream streamCmd    `cmd:"" help:"Send messages at a constant rate on many connections; example: weir load stream -c 64 --rate-per-connection 125 127.0.0.1:7000"`
	HTTP   httpCmd      `cmd:"" name:"http" help:"Send requests to a web server; example: weir load http -c 64 --rate 5000 http://127.0.0.1:8080/"`
	Stack  stackLoadCmd `cmd:"" help:"Send pings, connections and bulk data to a TCP/IP stack; example: weir load stack rr 10.77.0.2"`
	Chat   chatLoadCmd  `cmd:"" help:"Send messages to the rooms of an IRC server; example: weir load chat -c 64 --rate 500 127.0.0.1:6667"`
}

type streamCmd struct {
	Target string `arg:"" help:"HOST:PORT of the server; an IPv6 address stands in brackets."`

	Connections int           `short:"c" default:"64" help:"Connections that send; 0 with --idle or --churn alone."`
	Rate        *float64      `name:"rate-per-connection" placeholder:"125" help:"Messages per second on each connection."`
	Size        int           `default:"1000" help:"Bytes per message."`
	Pattern     string        `placeholder:"staggered" predictor:"patterns" help:"Arrival pattern: staggered (evenly apart), together (all connections at once) or poisson (independent)."`
	Duration    time.Duration `default:"10s" help:"How long to measure."`
	Seed        uint64        `default:"1" help:"Seed of the Poisson arrivals."`
	Echo        bool          `help:"The server echoes everything: check every byte and measure the latency of every message."`
	Bits        float64       `placeholder:"1e6" help:"Instead of a rate of messages: bits per second on each connection, in small writes as tcpkali makes them."`
	Idle        int           `placeholder:"N" help:"Idle connections, held open beside the others."`
	Churn       float64       `placeholder:"RATE" help:"Short connections per second beside the others: connect, send one message, close."`
	CPUs        []int         `name:"cpus" placeholder:"N,..." help:"Run on these CPUs only."`
	JSON        bool          `name:"json" help:"Write the report as JSON."`
	Steer       bool          `help:"Write events as JSON lines and read commands from standard input, as the lab uses it."`

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
  weir load stream -c 0 --idle 5000 --churn 100 127.0.0.1:7000  only idle and short connections`
}

func (c *streamCmd) config() streamload.Config {
	rate := 125.0
	if given := cmp.Or(c.Rate, c.OldRate); given != nil {
		rate = *given
	} else if c.Bits != 0 {
		rate = 0
	}
	return streamload.Config{Target: c.Target, Connections: c.Connections, Rate: rate, Size: c.Size, Pattern: c.Pattern, Duration: c.Duration,
		Seed: c.Seed, Echo: c.Echo, Bits: c.Bits, Idle: c.Idle, Churn: c.Churn, CPUs: c.CPUs}
}

func (c *streamCmd) Run(ctx context.Context, t *terminal) error {
	if c.Steer {
		return asUsage(load.Conduct(ctx, os.Stdin, t.out, c.config(), streamload.Run))
	}
	var ev load.Events
	if t.errTTY {
		ev.Every, ev.Progress = time.Second/4, func(p load.Progress) { writeLive(t.err, p) }
	}
	report, err := streamload.Run(ctx, c.config(), ev)
	if t.errTTY {
		fmt.Fprint(t.err, "\r\x1b[K")
	}
	if report.WindowNS > 0 {
		err = errors.Join(err, c.write(t.out, &report))
	}
	if err == nil && len(report.Errors) > 0 {
		err = fmt.Errorf("load: the run had errors: %s", report.Trouble())
	}
	return asUsage(err)
}

func (c *streamCmd) write(w io.Writer, r *streamload.Report) error {
	if c.JSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return r.WriteText(w)
}

// writeLive overwrites the terminal's last line.
func writeLive(w io.Writer, p load.Progress) {
	fmt.Fprintf(w, "\r\x1b[K%5.1f s  %d sent", p.Elapsed.Seconds(), p.Sent)
	fmt.Fprintf(w, "  %d connections  lateness %v", p.Alive, p.Lateness.Round(time.Microsecond))
}

// asUsage makes an invalid setting of a load an error of the command line.
func asUsage(err error) error {
	if errors.Is(err, load.ErrUsage) {
		return usageError{err}
	}
	return err
}
