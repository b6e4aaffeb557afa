package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"weir/lab/load"
	loadstack "weir/lab/load/stack"
)

type stackLoadCmd struct {
	Operation string `arg:"" enum:"ping,connect,in,out,rr,idle" help:"ping, connect, in, out, rr or idle."`
	Address   string `arg:"" help:"The stack's IP address."`

	Port        int           `placeholder:"N" help:"Of the service; 9 (discard) for connect and in, 19 (source) for out, 7 (echo) for rr and idle."`
	Connections int           `short:"c" default:"1" help:"Clients, or connections; pings have none."`
	Congestion  string        `placeholder:"cubic" help:"Congestion control of the sockets here."`
	Flows       int           `placeholder:"1" help:"Of ping: identifiers, which one sender serves in turn."`
	Rate        float64       `placeholder:"R" help:"Of ping: pings a second in all; 10 for each flow if not given."`
	Size        int           `placeholder:"56" help:"Of ping: bytes of payload."`
	Together    bool          `help:"Of ping: all flows at the same instants in place of evenly apart."`
	Processes   int           `placeholder:"N" help:"Of ping: by so many processes of the system's ping, each once a second if --rate says nothing else, as the paper measured."`
	Duration    time.Duration `default:"10s" help:"How long to measure."`
	Timeout     time.Duration `default:"5s" help:"How long a connection, an operation, an answer or more of the bytes are awaited."`
	CPUs        []int         `name:"cpus" placeholder:"N,..." help:"Run on these CPUs only."`
	JSON        bool          `name:"json" help:"Write the report as JSON."`
	Steer       bool          `help:"Write events as JSON lines and take commands from standard input."`
}

// Help is the long part of the command's help.
func (c *stackLoadCmd) Help() string {
	return `Drives a TCP/IP stack from kernel sockets. The stack answers pings and serves echo, discard and source over TCP.

  ping     paced pings; latency is from the device's time stamp of sending to that of receiving
  connect  each client: connect, 4,096 bytes, shut down, wait for the end of stream, close, and again
  in       bulk into the stack; bytes count when the stack has acknowledged them
  out      bulk out of the stack; bytes are dropped in the kernel
  rr       one byte to the stack and back, one at a time on each connection
  idle     connections that are answered once and held

Examples:

  weir load stack ping --flows 1000 10.77.0.2                 1,000 identifiers, 10 pings a second each, by one sender
  weir load stack connect -c 100 --duration 3s 10.77.0.2
  weir load stack in -c 10 --congestion reno 10.77.0.2
  weir load stack rr --port 7007 --json 127.0.0.1
  ip netns exec NAME weir load stack out 10.77.0.2            the generator must be where the stack's device is

Clients leave their ports in TIME-WAIT. For more than some 14,000 connections a minute, in the namespace of the generator (the last where the
kernel has it; without it 32,000 a second are the end):

  sysctl -w net.ipv4.tcp_tw_reuse=1 net.ipv4.ip_local_port_range="1024 65535" net.ipv4.tcp_tw_reuse_delay=10

Exit status: 0 all went well, 1 it couldn't be done or there were errors, 2 bad flags, 130 interrupted.`
}

func (c *stackLoadCmd) config() loadstack.Config {
	return loadstack.Config{Operation: c.Operation, Address: c.Address, Port: c.Port, Connections: c.Connections, Congestion: c.Congestion, Flows: c.Flows,
		Rate: c.Rate, Size: c.Size, Together: c.Together, Processes: c.Processes, Duration: c.Duration, Timeout: c.Timeout, CPUs: c.CPUs}
}

func (c *stackLoadCmd) Run(ctx context.Context, t *terminal) error {
	if c.Steer {
		return asUsage(loadstack.Steer(ctx, c.config(), os.Stdin, t.out))
	}
	var ev load.Events
	if t.errTTY {
		ev.Every, ev.Progress = time.Second/4, func(p load.Progress) {
			fmt.Fprintf(t.err, "\r\x1b[K%5.1f s  %d done  %d failed  %d connections", p.Elapsed.Seconds(), p.Sent, p.Failed, p.Alive)
		}
	}
	report, err := loadstack.Run(ctx, c.config(), ev)
	clearLive(t)
	if report.WindowNS > 0 {
		err = errors.Join(err, c.write(t, &report))
	}
	switch {
	case err == nil && len(report.Errors) > 0:
		err = fmt.Errorf("load: the run had errors: %s", report.Trouble())
	case err == nil && report.Messages == 0:
		err = fmt.Errorf("load: nothing came back from %s", report.Address)
	}
	return asUsage(err)
}

func (c *stackLoadCmd) write(t *terminal, r *loadstack.Report) error {
	if c.JSON {
		return t.json(r)
	}
	return r.WriteText(t.out)
}
