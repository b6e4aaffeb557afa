package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/tcpip/host"
)

type stackNetstatCmd struct {
	hostFlags

	Watch bool `short:"w" help:"Repeat every second, until Ctrl-C."`
	Most  int  `default:"100" placeholder:"N" help:"Most connections to list (100)."`
	JSON  bool `name:"json" help:"Write everything as JSON; with --watch an object every second."`
}

// Help is the long part of the command's help.
func (c *stackNetstatCmd) Help() string {
	return `The tables show:

  connections   unread: received bytes that the application has not read; unsent: written bytes that are
                not acknowledged; resent: retransmitted segments; window: the congestion window
  drops         packets that the stack dropped, and frames that the link dropped, by reason

Examples:

  weir stack netstat
  weir stack netstat --watch
  weir stack netstat --json | jq .drops`
}

// Run implements the command.
func (c *stackNetstatCmd) Run(ctx context.Context, t *terminal) error {
	if c.Most < 1 {
		return usageError{fmt.Errorf("--most %d: give 1 or more", c.Most)}
	}
	h, err := c.findHost(ctx)
	if err != nil {
		return err
	}
	for {
		s, err := h.Status(ctx, c.Most)
		if ctx.Err() != nil && c.Watch {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.show(s, t); err != nil || !c.Watch {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *stackNetstatCmd) show(s *host.Status, t *terminal) error {
	if c.JSON {
		return t.json(s)
	}
	var b strings.Builder
	if c.Watch && t.outTTY {
		b.WriteString("\x1b[H\x1b[2J") // clear the screen
	}
	writeStatus(&b, s, t.colour())
	_, err := io.WriteString(t.out, b.String())
	return err
}

// writeStatus writes the status as tables.
func writeStatus(w io.Writer, s *host.Status, colour bool) {
	writeLinks(w, s, colour)
	section := func(title string, columns []column, rows [][]string) {
		if len(rows) > 0 {
			fmt.Fprintf(w, "\n%s\n", tint(colour, "1", title))
			writeTable(w, columns, rows, 0, func(row, _ int, cell string) string { return tint(colour && row < 0, dim, cell) })
		}
	}
	section("connections", columns("local", "remote", "state", ">unread", ">unsent", ">rtt", ">window", ">resent"), connectionRows(s))
	if more := s.Total - len(s.Connections); more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	section("listeners", columns("local", "service", ">opening", ">waiting", ">backlog"), rows(s.Listeners, func(l host.Listener) []string {
		return []string{"tcp " + l.Local, l.Service, number(l.Opening), number(l.Waiting), number(l.Backlog)}
	}))
	section("sockets", columns("local", "remote", ">waiting", ">dropped"), rows(s.Sockets, func(u host.Socket) []string {
		return []string{"udp " + u.Local, u.Remote, number(u.Waiting), number(u.Dropped)}
	}))
	section("multicast groups", columns("group", "interface", ">members"), rows(s.Groups, func(g host.Group) []string { return []string{g.Addr, g.Interface, number(g.Members)} }))
	section("neighbours", columns("address", "hardware address", "state", "by"), rows(s.Neighbours, func(n host.Neighbour) []string { return []string{n.Addr, n.MAC, n.State, n.Interface} }))
	section("routes", columns("to", "via", "by", ">metric"), rows(s.Routes, func(r host.Route) []string { return []string{r.To, r.Via, r.Interface, number(r.Metric)} }))
	section("links", columns("name", ">frames in", ">bytes in", ">frames out", ">bytes out"), rows(s.Interfaces, func(i host.Interface) []string {
		return []string{i.Name, number(i.Received), number(i.ReceivedBytes), number(i.Sent), number(i.SentBytes)}
	}))
	section("drops", columns("where", ">packets", "why"), dropRows(s))
}

// writeLinks writes a line for each link, and one for the host.
func writeLinks(w io.Writer, s *host.Status, colour bool) {
	for _, l := range s.Interfaces {
		if l.Kind == "loopback" {
			continue
		}
		addrs := first(strings.Join(l.Addrs, ", "), "no address")
		where := l.Name
		if s.Namespace != "" {
			where += " in " + s.Namespace
		}
		fmt.Fprintf(w, "%s on %s (%s), MTU %d, offloads %s", tint(colour, green, addrs), where, first(l.MAC, "TUN"), l.MTU, map[bool]string{true: "on", false: "off"}[l.Offload])
		if l.Metric > 0 {
			fmt.Fprintf(w, ", metric %d", l.Metric)
		}
		fmt.Fprintln(w)
		if l.Impair != "off" {
			fmt.Fprintf(w, "%s\n", tint(colour, yellow, l.Name+" is impaired: "+l.Impair))
		}
	}
	fmt.Fprintf(w, "up %v, %s, run by %s, %s of %s in buffers\n", s.Up.Round(time.Second), count(s.Queues, "queue", "s"), s.Run, size(int64(s.Memory)), size(int64(s.MemoryMost)))
}

// columns returns the columns of a table. The titles of right-aligned ones start with >.
func columns(titles ...string) (all []column) {
	for _, t := range titles {
		title, right := strings.CutPrefix(t, ">")
		all = append(all, column{title, right})
	}
	return all
}

func rows[T any](of []T, row func(T) []string) (all [][]string) {
	for _, one := range of {
		all = append(all, row(one))
	}
	return all
}

func number[T int | uint64](n T) string { return strconv.FormatUint(uint64(n), 10) }

func connectionRows(s *host.Status) [][]string {
	return rows(s.Connections, func(c host.Connection) []string {
		rtt := ""
		if c.RTT > 0 {
			rtt = milliseconds(c.RTT)
		}
		return []string{c.Local, c.Remote, c.State, number(c.Unread), number(c.Unsent), rtt, number(c.Window), number(c.Resent)}
	})
}

func dropRows(s *host.Status) (all [][]string) {
	add := func(where string, drops map[string]uint64) {
		for _, why := range slices.Sorted(maps.Keys(drops)) {
			meant := first(dropMeanings[why], strings.ReplaceAll(why, "_", " "))
			all = append(all, []string{where, number(drops[why]), meant})
		}
	}
	add("stack", s.Drops)
	for _, i := range s.Interfaces {
		add(i.Name, i.Dropped)
	}
	return all
}

// dropMeanings explains the reasons of drops, those of the stack and those of its links.
var dropMeanings = map[string]string{
	"frame":       "a frame that is too short, or of a type without a handler, such as IPv6",
	"arp":         "an invalid ARP message",
	"ndp":         "an invalid message of IPv6 neighbour discovery, or one from beyond the link",
	"ip_header":   "an invalid IPv4 header",
	"not_ours":    "for another host",
	"source":      "from a martian address",
	"options":     "with source routes, or invalid options",
	"fragment":    "fragments that do not fit together, or too many",
	"protocol":    "of a protocol without a handler",
	"icmp":        "an invalid ICMP message, or an error about a packet that was not sent",
	"udp_header":  "an invalid datagram",
	"udp_port":    "a datagram for a closed port",
	"socket_full": "for a socket whose queue was full",
	"tcp_header":  "an invalid segment",
	"tcp_port":    "a segment of no connection or listener",
	"backlog":     "a new connection: the backlog of the listener was full",
	"memory":      "no buffer was free",
	"neighbour":   "the neighbour did not answer",
	"route":       "no route to the address",
	"device":      "the device rejected the frame",

	"ethernet_queue":  "run as a network: the queue before Ethernet was full",
	"arp_queue":       "run as a network: the queue before ARP was full",
	"ipv4_queue":      "run as a network: the queue before IPv4 was full",
	"ipv6_queue":      "run as a network: the queue before IPv6 was full",
	"fragments_queue": "run as a network: the queue before fragments was full",
	"icmp_queue":      "run as a network: the queue before ICMP was full",
	"udp_queue":       "run as a network: the queue before UDP was full",
	"tcp_queue":       "run as a network: the queue before TCP was full",

	"full":      "the queue of the link was full",
	"refused":   "the link does not carry such a frame",
	"down":      "the device was down",
	"closed":    "the link was closed",
	"malformed": "from the device, with an invalid header",
	"lost":      "dropped by the impairment",
	"codel":     "dropped by controlled delay, in an impairment",
}
