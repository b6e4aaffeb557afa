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
	"weir/lab/workload/chat/chatload"
)

type chatLoadCmd struct {
	Target string `arg:"" help:"HOST:PORT of the server; an IPv6 address stands in brackets."`

	Members int           `short:"c" default:"64" help:"Members of the rooms."`
	Rooms   int           `default:"1" help:"Rooms; the members are spread evenly over them."`
	Senders int           `placeholder:"N" help:"Members that send messages (default: all)."`
	Rate    *float64      `placeholder:"R" help:"Open loop: messages per second in total, evenly apart. Without it a closed loop: each sender sends its next message when every member has received its last."`
	Size    int           `default:"80" help:"Bytes of text per message."`
	Timeout time.Duration `default:"5s" help:"How long to wait for deliveries."`
	Idle    int           `placeholder:"N" help:"Further connections that register and stay silent."`
	Replay  int           `placeholder:"N" help:"Instead of sending: fill the room with N messages, and have one new client after the other read them."`
	Caps    []string      `placeholder:"CAP,..." help:"IRC capabilities to request, such as message-tags,server-time,echo-message."`
	Pass    string        `placeholder:"WORD" help:"Password, sent by PASS."`
	Prefix  string        `default:"w" help:"One to three letters before the number of a nick."`
	Acks    string        `placeholder:"FILE" predictor:"file" help:"Write the acknowledged messages of each sender, by an echo or else by PONG, as a JSON object per line."`
	loadFlags
}

// Help is the long part of the command's help.
func (c *chatLoadCmd) Help() string {
	return `Every delivery to every member is checked: its text, sender and room, and that it is the next message of that sender. Errors are counted by kind: lost, repeated (or out of order), missing, wrong, foreign; closed and reset are connections that the server closed, refused is a command that it rejected.

The report shows:

  deliveries  a delivery is one message received by one member
  latency     from the intended send time of a message (closed loop: its send time) to its delivery
  lateness    of this program, for messages whose sender's connection had room
  replays     from the request for the history, or the JOIN, to its last message

Examples:

  weir load chat -c 64 --rate 500 127.0.0.1:6667              64 members, 500 messages/s of 80 bytes, 31,500 deliveries/s
  weir load chat -c 64 127.0.0.1:6667                         closed loop
  weir load chat -c 256 --caps message-tags,server-time,echo-message 127.0.0.1:6667
  weir load chat -c 2 --idle 5000 127.0.0.1:6667              idle connections beside two senders
  weir load chat --replay 10000 -c 1 127.0.0.1:6667           a history of 10,000 messages, read again and again
  weir load chat -c 16 --acks acked.jsonl 127.0.0.1:6667      for a test that kills the server`
}

func (c *chatLoadCmd) config() (chatload.Config, error) {
	config := chatload.Config{Target: c.Target, Members: c.Members, Rooms: c.Rooms, Senders: c.Senders, Size: c.Size, Duration: c.length(),
		Timeout: c.Timeout, Idle: c.Idle, Replay: c.Replay, Caps: c.Caps, Pass: c.Pass, Prefix: c.Prefix, Acks: c.Acks != "", CPUs: c.CPUs, Histograms: c.Histograms}
	if c.Rate != nil {
		if config.Rate = *c.Rate; config.Rate == 0 {
			return config, usageError{errors.New("load: --rate is 0: give a positive rate, or leave --rate out for a closed loop")}
		}
	}
	return config, nil
}

func (c *chatLoadCmd) Run(ctx context.Context, t *terminal) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	s := sender[chatload.Config, chatload.Report, *chatload.Report]{loadFlags: c.loadFlags, unit: "delivered", run: chatload.Run,
		minRate: load.MinRate, maxRate: chatload.MaxRate, from: config.Rate, limit: defaultLimit,
		atRate: func(to chatload.Config, rate float64) chatload.Config {
			to.Rate = rate
			return to
		}}
	report, err := s.send(ctx, t, config)
	return errors.Join(err, c.acks(report.Acknowledged))
}

// acks writes the acknowledged messages, also after an error.
func (c *chatLoadCmd) acks(all []chatload.Acknowledged) error {
	if c.Acks == "" || len(all) == 0 {
		return nil
	}
	f, err := os.Create(c.Acks)
	if err != nil {
		return fmt.Errorf("load: cannot write the acknowledged messages: %w", err)
	}
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	for _, a := range all {
		err = errors.Join(err, lines.Encode(a))
	}
	return errors.Join(err, w.Flush(), f.Close())
}
