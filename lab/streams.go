package lab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload/stream/streamload"
)

// streams is the workload of messages on TCP connections, which a sink reads and an echo server
// returns.
type streams struct {
	servers
	echo bool
}

func (streams) patterns(*Experiment) (all []string, byLoads bool) { return load.Patterns, false }

func (w streams) checkLoad(e *Experiment, l *Load) string {
	switch {
	case l.hasStackSettings():
		return settingsOfStack
	case l.hasChatSettings():
		return settingsOfChat
	case len(l.Connections) > 0:
		return "connections of a load are for the workloads page, files, proxy, chat and stack: leave them out, or set one of these"
	case l.hasHTTPSettings():
		return "pattern, path, no_keep_alive, requests, sleep_ms, sleep_every, filters, gzip, tls and cold are for the workloads page, files and proxy: leave them out, or set one of these"
	case l.WorkUS < 0 || l.WorkUS > 1e6 || l.WaitMS < 0 || l.WaitMS > 60_000:
		return "work_us must be from 0 to 1000000 and wait_ms from 0 to 60000"
	case len(e.Saturation) > 0 && (l.Bits != 0 || l.Rate == 0):
		return "saturation raises the rate of messages: give it a rate, and no bits"
	}
	return w.unofferable(e, *l)
}

// unofferable returns why the generator cannot offer l in some cell; empty if it can.
func (w streams) unofferable(e *Experiment, l Load) string {
	for _, n := range e.Connections {
		for _, pattern := range e.Patterns {
			c := w.config(l, n, pattern)
			c.Target = "127.0.0.1:1" // a placeholder: Check needs a valid address
			switch err := c.Check(true); {
			case err != nil:
				return fmt.Sprintf("with %d connections, %s: %s", n, pattern, strings.TrimPrefix(err.Error(), "load: "))
			case n == 0 && l.Churn == 0:
				return "with 0 connections: nothing is sent, so there is nothing to measure: give connections, or churn"
			case n == 0 && len(e.Saturation) > 0:
				return "with 0 connections: saturation raises the rate of connections that send: give some"
			}
		}
	}
	return ""
}

// config returns the generator's settings for l. The caller sets the target.
func (w streams) config(l Load, connections int, pattern string) streamload.Config {
	c := streamload.Config{Connections: connections, Size: l.Size, Pattern: pattern, Echo: w.echo, Idle: l.Idle, Churn: l.Churn, Bits: l.Bits}
	if l.Bits == 0 {
		c.Rate = l.Rate
	}
	return c
}

func (w streams) args(r *Runner, p Place, l Load, addr string) []string {
	c := w.config(l, p.Connections, p.Pattern)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	args := []string{"stream", "--steer", "--connections", strconv.Itoa(c.Connections), "--size", strconv.Itoa(c.Size), "--pattern", c.Pattern,
		"--idle", strconv.Itoa(c.Idle), "--churn", number(c.Churn), "--seed", strconv.FormatUint(r.arrivalSeed(p), 10)}
	if c.Bits > 0 {
		args = append(args, "--bits", number(c.Bits))
	} else {
		args = append(args, "--rate-per-connection", number(c.Rate))
	}
	if c.Echo {
		args = append(args, "--echo")
	}
	return append(args, addr)
}

// fill adds nothing: the figures of all loads are those of streams.
func (streams) fill(*result.Trial, *running, Load, loadReport, collectorReports) {}

func (streams) failures(t *result.Trial, ev Evidence) (wrong, slow findings) {
	return messageFailures(t, ev)
}

func (streams) rejections(t *result.Trial, _ Evidence, onTime bool) findings {
	return loadShort(t, onTime)
}

// messageFailures returns what is wrong or slow where the generator sends by a schedule and checks
// what it receives.
func messageFailures(t *result.Trial, ev Evidence) (wrong, slow findings) {
	for _, kind := range slices.Sorted(maps.Keys(ev.Errors)) {
		to := &wrong
		// Not received in time is slow, not wrong.
		if kind == "echo missing" || kind == "missing" {
			to = &slow
		}
		to.add(true, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
	}
	slow.add(float64(t.Behind) > maxBehind*float64(t.Messages), "did not carry the load: the connection was full (not writable) for %d of %d messages", t.Behind, t.Messages)
	queued := int64(maxQueued*t.Connections) * t.Bytes / max(t.Messages, 1)
	slow.add(float64(ev.UnreadBytes) > maxUnread*float64(t.Bytes) && ev.UnreadBytes > queued, "did not read: %d bytes were unread at the end of the window, in which %d were sent", ev.UnreadBytes, t.Bytes)
	return wrong, slow
}

// loadShort rejects a trial whose messages were not all sent.
func loadShort(t *result.Trial, onTime bool) (why findings) {
	why.add(onTime && t.AchievedRatio < minAchieved, result.LoadShort+": %.2f %% of the offered messages were sent", 100*t.AchievedRatio)
	return why
}
