package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"weir/tcpip/host"
)

type stackPingCmd struct {
	hostFlags

	Host     string  `arg:"" help:"The address to ping, or a name."`
	Count    int     `short:"c" placeholder:"N" help:"Number of pings (default: until Ctrl-C)."`
	Interval seconds `short:"i" default:"1" placeholder:"D" help:"Interval: seconds, or a duration such as 200ms (1)."`
	Size     int     `short:"s" default:"56" placeholder:"N" help:"Bytes of data per ping (56)."`
	Wait     seconds `short:"W" default:"2" placeholder:"D" help:"Timeout of an answer (2)."`
	JSON     bool    `name:"json" help:"Write the statistics as JSON, at the end."`
}

// Help is the long part of the command's help.
func (c *stackPingCmd) Help() string {
	return `The host measures the round-trip times around its own stack. Ctrl-C ends the command with its statistics.

Examples:

  weir stack ping 10.0.0.1
  weir stack ping -c 100 -i 0.01 10.0.0.1
  weir stack ping -c 3 -s 8000 --json 10.0.0.1      a packet in fragments`
}

// seconds is a duration that may be written as a number of seconds, as for ping.
type seconds time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *seconds) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if v, wrong := strconv.ParseFloat(string(text), 64); wrong == nil {
		d, err = time.Duration(v*float64(time.Second)), nil
	}
	if err != nil || d <= 0 || d > time.Hour {
		return fmt.Errorf("%q is not a duration: write seconds, or for example 200ms", text)
	}
	*s = seconds(d)
	return nil
}

// pong is the outcome of a ping.
type pong struct {
	Seq  int           `json:"seq"`
	Addr string        `json:"addr,omitempty"`
	Took time.Duration `json:"took_ns,omitempty"` // 0: no answer
	Err  string        `json:"error,omitempty"`
}

// pingReport has the statistics of all pings.
type pingReport struct {
	Host     string `json:"host"`
	Sent     int    `json:"sent"`
	Received int    `json:"received"`
	RTT      struct {
		Min  time.Duration `json:"min"`
		Mean time.Duration `json:"mean"`
		Max  time.Duration `json:"max"`
		SD   time.Duration `json:"sd"`
	} `json:"rtt_ns"`
	Pongs []pong `json:"pings"`
}

const (
	pingsAtOnce  = 100                  // unanswered pings at once: the next one waits
	pingInterval = 5 * time.Millisecond // the shortest
)

// Run implements the command.
func (c *stackPingCmd) Run(ctx context.Context, t *terminal) error {
	switch {
	case c.Count < 0 || c.Size < 0 || c.Size > 65507:
		return usageError{fmt.Errorf("-c %d -s %d: make them 0 or more, and the size at most 65507", c.Count, c.Size)}
	case time.Duration(c.Interval) < pingInterval:
		return usageError{fmt.Errorf("-i %v: make it %v or more", time.Duration(c.Interval), pingInterval)}
	}
	h, err := c.findHost(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		fmt.Fprintf(t.out, "PING %s from the host, with %d bytes of data\n", c.Host, c.Size)
	}
	r, err := c.ping(ctx, h, t)
	if err != nil {
		return err
	}
	r.count()
	if c.JSON {
		err = t.json(r)
	} else {
		r.print(t)
	}
	if err == nil && r.Received == 0 {
		return errors.New("no ping was answered")
	}
	return err
}

// ping sends the pings at their times, and prints the outcome of each.
func (c *stackPingCmd) ping(ctx context.Context, h host.Client, t *terminal) (*pingReport, error) {
	sending, stop := context.WithCancel(ctx)
	defer stop()
	pongs := make(chan pong, pingsAtOnce) // from the pings to here; closed when all have ended
	// from a ping to here: that there is no host; what finds no room is dropped
	failed := make(chan error, 1)
	go c.send(sending, h, pongs, failed) // until it was asked to, or stop
	r := &pingReport{Host: c.Host, Pongs: []pong{}}
	for p := range pongs {
		r.Sent++
		if r.Pongs = append(r.Pongs, p); !c.JSON {
			c.say(t, p)
		}
		if len(failed) > 0 {
			stop()
		}
	}
	if len(failed) > 0 {
		return r, <-failed
	}
	return r, nil
}

func (c *stackPingCmd) send(ctx context.Context, h host.Client, pongs chan<- pong, failed chan<- error) {
	defer close(pongs)
	var under sync.WaitGroup
	defer under.Wait()
	slots := make(chan struct{}, pingsAtOnce) // a ping takes one, and gives it back
	pace := time.NewTicker(time.Duration(c.Interval))
	defer pace.Stop()
	for seq := 1; c.Count == 0 || seq <= c.Count; seq++ {
		if seq > 1 {
			select {
			case <-pace.C:
			case <-ctx.Done():
				return
			}
		}
		slots <- struct{}{}
		under.Go(func() {
			defer func() { <-slots }()
			p, err := c.one(ctx, h, seq)
			switch {
			case ctx.Err() != nil && p.Took == 0:
				return // it was not waited for
			case err != nil:
				select {
				case failed <- err:
				default:
				}
			}
			pongs <- p
		})
	}
}

// one pings once. The error is that of the way to the host, not of the way from it.
func (c *stackPingCmd) one(ctx context.Context, h host.Client, seq int) (pong, error) {
	addr, took, err := h.Ping(ctx, c.Host, c.Size, time.Duration(c.Wait))
	said, fromHost := errors.AsType[*host.Error](err)
	switch {
	case err == nil:
		return pong{Seq: seq, Addr: addr.String(), Took: took}, nil
	case fromHost && said.Timeout():
		return pong{Seq: seq}, nil
	}
	p := pong{Seq: seq, Err: err.Error()}
	if fromHost {
		err = nil
	}
	return p, err
}

func (c *stackPingCmd) say(t *terminal, p pong) {
	switch {
	case p.Took > 0:
		fmt.Fprintf(t.out, "%d bytes from %s: seq=%d time=%s\n", c.Size+8, p.Addr, p.Seq, milliseconds(p.Took))
	case p.Err != "":
		fmt.Fprintf(t.out, "%s: seq=%d\n", tint(t.colour(), red, p.Err), p.Seq)
	default:
		fmt.Fprintf(t.out, "%s: seq=%d\n", tint(t.colour(), yellow, "no answer"), p.Seq)
	}
}

// milliseconds formats a duration as ping does.
func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/1e6, 'f', 3, 64) + " ms"
}

// count computes the statistics.
func (r *pingReport) count() {
	slices.SortFunc(r.Pongs, func(a, b pong) int { return a.Seq - b.Seq })
	var sum, squares float64
	for _, p := range r.Pongs {
		if p.Took == 0 {
			continue
		}
		if r.Received++; r.Received == 1 || p.Took < r.RTT.Min {
			r.RTT.Min = p.Took
		}
		r.RTT.Max = max(r.RTT.Max, p.Took)
		sum += float64(p.Took)
		squares += float64(p.Took) * float64(p.Took)
	}
	if n := float64(r.Received); n > 0 {
		mean := sum / n
		r.RTT.Mean, r.RTT.SD = time.Duration(mean), time.Duration(math.Sqrt(max(0, squares/n-mean*mean)))
	}
}

// print writes the statistics as ping does.
func (r *pingReport) print(t *terminal) {
	lost := 0.0
	if r.Sent > 0 {
		lost = 100 * float64(r.Sent-r.Received) / float64(r.Sent)
	}
	fmt.Fprintf(t.out, "\n--- %s ping statistics ---\n%d packets sent, %d received, %.4g%% lost\n", r.Host, r.Sent, r.Received, lost)
	if r.Received > 0 {
		fmt.Fprintf(t.out, "rtt min/avg/max/mdev = %.3f/%.3f/%.3f/%.3f ms\n", float64(r.RTT.Min)/1e6, float64(r.RTT.Mean)/1e6, float64(r.RTT.Max)/1e6, float64(r.RTT.SD)/1e6)
	}
}
