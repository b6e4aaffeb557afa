package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"weir/lab/load"
	"weir/lab/workload/stack/stackload"
)

type stackLoadCmd struct {
	Operation string `arg:"" enum:"ping,connect,in,out,rr,idle" help:"ping, connect, in, out, rr or idle."`
	Address   string `arg:"" help:"The stack's IP address."`

	Port        int           `placeholder:"N" help:"Port of the service (default: 9, discard, for connect and in; 19, source, for out; 7, echo, for rr and idle)."`
	Connections int           `short:"c" default:"1" help:"Connections; not for ping."`
	Congestion  string        `placeholder:"cubic" help:"Congestion control of the sockets of this program."`
	Flows       int           `placeholder:"1" help:"For ping: identifiers, which one sender uses in turn."`
	Rate        float64       `placeholder:"R" help:"For ping: pings per second in total (default: 10 for each flow)."`
	Size        int           `placeholder:"56" help:"For ping: bytes of payload."`
	Together    bool          `help:"For ping: all flows at the same instants instead of evenly apart."`
	Processes   int           `placeholder:"N" help:"For ping: so many processes of the system's ping, each once a second unless --rate says otherwise, as the paper measured."`
	Timeout     time.Duration `default:"5s" help:"How long to wait for a connection, an operation, an answer or more bytes."`
	loadFlags
}

// Help is the long part of the command's help.
func (c *stackLoadCmd) Help() string {
	return `Sends load to a TCP/IP stack from sockets of the kernel. The stack answers pings, and serves echo, discard and source over TCP.

  ping     paced pings; latency is from the device's time stamp of sending to that of receiving
  connect  each connection: connect, send 4,096 bytes, shut down, wait for the end of stream, close, repeat
  in       bulk data into the stack; bytes count when the stack has acknowledged them
  out      bulk data out of the stack; the kernel drops the bytes
  rr       request and response of one byte, one at a time on each connection
  idle     connections that are answered once and held open

Closed connections leave their ports in TIME-WAIT. For more than about 14,000 connections a minute, set this in the network namespace of the generator. A kernel without the last setting carries up to 32,000 a second.

  sysctl -w net.ipv4.tcp_tw_reuse=1 net.ipv4.ip_local_port_range="1024 65535" net.ipv4.tcp_tw_reuse_delay=10

Examples:

  weir load stack ping --flows 1000 10.77.0.2                 1,000 identifiers, 10 pings a second each, by one sender
  weir load stack connect -c 100 --duration 3s 10.77.0.2
  weir load stack in -c 10 --congestion reno 10.77.0.2
  weir load stack rr --port 7007 --json 127.0.0.1
  ip netns exec NAME weir load stack out 10.77.0.2            the generator must be where the stack's device is`
}

func (c *stackLoadCmd) config() stackload.Config {
	return stackload.Config{Operation: c.Operation, Address: c.Address, Port: c.Port, Connections: c.Connections, Congestion: c.Congestion, Flows: c.Flows,
		Rate: c.Rate, Size: c.Size, Together: c.Together, Processes: c.Processes, Duration: c.length(), Timeout: c.Timeout, CPUs: c.CPUs, Histograms: c.Histograms}
}

func (c *stackLoadCmd) Run(ctx context.Context, t *terminal) error {
	if c.Knee.given && (c.Operation != stackload.Ping || c.Processes > 0) {
		return usageError{errors.New("load: a knee is of flows of pings: give the operation ping with --knee, without --processes")}
	}
	s := sender[stackload.Config, stackload.Report, *stackload.Report]{loadFlags: c.loadFlags, unit: "done", run: stackload.Run,
		minRate: load.MinRate, maxRate: stackload.MaxRate, from: cmp.Or(c.Rate, stackload.DefaultFlowRate*float64(max(1, c.Flows))), limit: defaultLimit,
		atRate: func(to stackload.Config, rate float64) stackload.Config {
			to.Rate = rate
			return to
		}}
	report, err := s.send(ctx, t, c.config())
	if err == nil && report.WindowNS > 0 && report.Messages == 0 {
		err = fmt.Errorf("load: %s answered nothing: check that the stack runs, and that this machine has a route to it", report.Address)
	}
	return err
}
