package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"weir/lab/load"
	loadchat "weir/lab/load/chat"
)

type chatLoadCmd struct {
	Target string `arg:"" help:"HOST:PORT of the server; an IPv6 address stands in brackets."`

	Members  int           `short:"c" default:"64" help:"Members of the rooms."`
	Rooms    int           `default:"1" help:"Rooms, among which the members are dealt out."`
	Senders  int           `placeholder:"N" help:"How many of the members talk; all if not given."`
	Rate     *float64      `placeholder:"R" help:"Messages a second in all, due evenly apart whatever the server does; without it everybody says the next when all have heard the last."`
	Size     int           `default:"80" help:"Bytes of text a message."`
	Duration time.Duration `default:"10s" help:"How long to measure."`
	Timeout  time.Duration `default:"5s" help:"How long deliveries are awaited."`
	Idle     int           `placeholder:"N" help:"Further connections that register and stay silent."`
	Replay   int           `placeholder:"N" help:"Instead of talking: fill the room with N messages, and have one newcomer after the other read them."`
	Caps     []string      `placeholder:"CAP,..." help:"Capabilities to ask for, as message-tags,server-time,echo-message."`
	Pass     string        `placeholder:"WORD" help:"Sent by PASS."`
	Prefix   string        `default:"w" help:"One to three letters before the number of a nick."`
	Acks     string        `placeholder:"FILE" help:"Write what was acknowledged to each sender, by an echo or else by PONG, as a JSON object a line."`
	CPUs     []int         `name:"cpus" placeholder:"N,..." help:"Run on these CPUs only."`
	JSON     bool          `name:"json" help:"Write the report as JSON."`
	Steer    bool          `help:"Write events as JSON lines and take commands from standard input."`
}

// Help is the long part of the command's help.
func (c *chatLoadCmd) Help() string {
	return `Every delivery to every member is checked: its text, its sender, its room, and that it is the one after the last of that
sender. What isn't is an error of its kind: lost, repeated (or out of order), missing, wrong, foreign; closed and reset
are connections that the server ended, refused is what it would not do.

Examples:

  weir load chat -c 64 --rate 500 127.0.0.1:6667              64 members, 500 messages/s of 80 bytes, 31,500 deliveries/s
  weir load chat -c 64 127.0.0.1:6667                         closed loop
  weir load chat -c 256 --caps message-tags,server-time,echo-message 127.0.0.1:6667
  weir load chat -c 2 --idle 5000 127.0.0.1:6667              idle connections beside two who talk
  weir load chat --replay 10000 -c 1 127.0.0.1:6667           a history of 10,000 messages, read again and again
  weir load chat -c 16 --acks acked.jsonl 127.0.0.1:6667      for a test that kills the server

deliveries  a message that one member is told
latency     from when a message was due (without --rate: sent) to its delivery
lateness    of this program, with messages whose sender's connection had room
replays     from asking for the history, or joining, to its last message

Exit status: 0 all went well, 1 it couldn't be done or there were errors, 2 bad flags, 130 interrupted.`
}

func (c *chatLoadCmd) config() (loadchat.Config, error) {
	config := loadchat.Config{Target: c.Target, Members: c.Members, Rooms: c.Rooms, Senders: c.Senders, Size: c.Size, Duration: c.Duration,
		Timeout: c.Timeout, Idle: c.Idle, Replay: c.Replay, Caps: c.Caps, Pass: c.Pass, Prefix: c.Prefix, Acks: c.Acks != "", CPUs: c.CPUs}
	if c.Rate != nil {
		if config.Rate = *c.Rate; config.Rate == 0 {
			return config, usageError{errors.New("load: a rate of 0 messages a second is no load: give more, or leave --rate out for a closed loop")}
		}
	}
	return config, nil
}

func (c *chatLoadCmd) Run(ctx context.Context, t *terminal) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if c.Steer {
		return asUsage(loadchat.Steer(ctx, config, os.Stdin, t.out))
	}
	var ev load.Events
	if t.errTTY {
		ev.Every, ev.Progress = time.Second/4, func(p load.Progress) {
			fmt.Fprintf(t.err, "\r\x1b[K%5.1f s  %d delivered  %d members  latest %v late", p.Elapsed.Seconds(), p.Sent, p.Alive, p.Lateness.Round(time.Microsecond))
		}
	}
	report, err := loadchat.Run(ctx, config, ev)
	clearLive(t)
	err = errors.Join(err, c.acks(report.Acknowledged))
	if report.WindowNS > 0 {
		err = errors.Join(err, c.write(t, &report))
	}
	if err == nil && len(report.Errors) > 0 {
		err = fmt.Errorf("load: the run had errors: %s", report.Trouble())
	}
	return asUsage(err)
}

func (c *chatLoadCmd) write(t *terminal, r *loadchat.Report) error {
	if c.JSON {
		return t.json(r)
	}
	return r.WriteText(t.out)
}

// acks writes what was acknowledged, however the run ended.
func (c *chatLoadCmd) acks(all []loadchat.Acknowledged) error {
	if c.Acks == "" || len(all) == 0 {
		return nil
	}
	f, err := os.Create(c.Acks)
	if err != nil {
		return fmt.Errorf("load: can't write what was acknowledged: %w", err)
	}
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	for _, a := range all {
		err = errors.Join(err, lines.Encode(a))
	}
	return errors.Join(err, w.Flush(), f.Close())
}
