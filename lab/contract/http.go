package contract

import (
	"fmt"
	"time"

	"weir/lab/subject"
)

// The check of sleeping requests: every tenth request sleeps for longer than anybody waits.
const (
	sleepEvery = 10
	longSleep  = 60_000 // ms
	shortSleep = 200    // ms
)

// webChecks are the contract of an HTTP server.
var webChecks = []check{
	{name: "body", shares: true, run: web(wholeBody)},
	{name: "keep-alive", shares: true, run: web(keepAlive)},
	{name: "pipelining", shares: true, run: web(pipelining)},
	{name: "requests in pieces", shares: true, run: web(pieces)},
	{name: "HEAD", shares: true, run: web(headOnly)},
	{name: "404", shares: true, run: web(notFound)},
	{name: "Connection: close", shares: true, run: web(closing)},
	{name: "HTTP/1.0", shares: true, run: web(oldVersion)},
	{name: "rubbish", shares: true, run: web(rubbish)},
	{name: "POST", shares: true, run: web(unexpectedBody)},
	{name: "100 visitors", shares: true, run: web(manyVisitors)},
	{name: "from disk", shares: true, workload: "page", run: web(fromDisk)},
	{name: "half a request", shares: true, run: web(halfRequest)},
	{name: "sleep", workload: "page", needs: "{sleep_ms}", params: subject.Params{SleepMS: shortSleep, SleepEvery: 1}, run: web(sleep)},
	{name: "sleep beside others", workload: "page", needs: "{sleep_every}", params: subject.Params{SleepMS: longSleep, SleepEvery: sleepEvery}, run: web(sleepBeside)},
	{name: "gzip", workload: "files", needs: "{gzip}", params: subject.Params{Gzip: true}, run: web(compressed)},
	{name: "SIGTERM while answering", workload: "page", needs: "{sleep_every}", full: true, params: subject.Params{SleepMS: longSleep, SleepEvery: sleepEvery}, run: web(endWhileAsleep)},
	{name: "SIGTERM while sending", workload: "files", full: true, run: web(endWhileSending)},
	{name: "SIGINT", full: true, own: true, alone: interruptWeb},
	{name: "bad flags", full: true, own: true, alone: badFlags},
	{name: "port in use", full: true, own: true, alone: portInUse},
}

// web makes a check of one that leaves nothing to be judged: an HTTP server writes nothing to
// standard output.
func web(run func(*bench) error) func(*bench) (verify, error) {
	return func(b *bench) (verify, error) { return nothing, run(b) }
}

// wholeBody: each file comes whole, under its length and type, and nothing after it.
func wholeBody(b *bench) error {
	for _, path := range b.paths() {
		v, err := b.visit()
		if err != nil {
			return err
		}
		if err := b.get(v, path); err != nil {
			return err
		}
		if err := b.get(v, path, "Connection: close"); err != nil {
			return fmt.Errorf("the second on the connection: %w", err)
		}
		if err := v.over(); err != nil {
			return fmt.Errorf("after %s: %w", path, err)
		}
	}
	return nil
}

// keepAlive: fifty requests on one connection.
func keepAlive(b *bench) error {
	v, err := b.visit()
	if err != nil {
		return err
	}
	for n := range 50 {
		if err := b.getAll(v); err != nil {
			return fmt.Errorf("request %d on one connection: %w", n+1, err)
		}
	}
	return nil
}

// pipelining: several requests in one write are answered one after the other, in order.
func pipelining(b *bench) error {
	v, err := b.visit()
	if err != nil {
		return err
	}
	paths := append(b.paths(), "/missing", pagePath, pagePath, "/missing", pagePath)
	text := ""
	for _, path := range paths {
		text += request("GET", path)
	}
	if err := v.say(text); err != nil {
		return err
	}
	for n, path := range paths {
		a, err := v.hear("GET")
		content, there := b.www.files[path]
		switch {
		case err != nil:
		case there:
			err = a.isFile(path, content)
		default:
			err = a.isStatus(404)
		}
		if err != nil {
			return fmt.Errorf("request %d of %d in one write: GET %s: %w", n+1, len(paths), path, err)
		}
	}
	return b.get(v, pagePath)
}

// pieces: a request may come in any number of segments.
func pieces(b *bench) error {
	v, err := b.visit()
	if err != nil {
		return err
	}
	text := request("GET", pagePath)
	for i := 0; i < len(text) && err == nil; i++ {
		err = v.say(text[i : i+1])
		if i%8 == 0 {
			time.Sleep(time.Millisecond) // so that some of them are read by themselves
		}
	}
	if err == nil {
		err = b.page(v)
	}
	if err != nil {
		return fmt.Errorf("a request in single bytes: %w", err)
	}
	return nil
}

// manyVisitors: a hundred connections that all stay open, three requests on each.
func manyVisitors(b *bench) error {
	const many, requests = 100, 3
	all, err := b.visitAll(many)
	if err != nil {
		return fmt.Errorf("%w (a listen backlog that is too short can be the reason)", err)
	}
	for range requests {
		if err := together(many, func(i int) error { return b.getAll(all[i]) }); err != nil {
			return fmt.Errorf("on one of %d connections: %w", many, err)
		}
	}
	return nil
}

// halfRequest: visitors who say nothing, or half of what they want, or break off, are in nobody's
// way.
func halfRequest(b *bench) error {
	all, err := b.visitAll(4)
	if err != nil {
		return err
	}
	half, late, broken := all[1], all[2], all[3] // the first says nothing
	text := request("GET", pagePath)
	if err := half.say(text[:9]); err != nil {
		return err
	}
	if err := late.say(text[:len(text)-2]); err != nil {
		return err
	}
	if err := broken.say(text[:20]); err != nil {
		return err
	}
	if err := broken.SetLinger(0); err != nil {
		return err
	}
	broken.Close()
	v, err := b.visit()
	if err == nil {
		err = b.getAll(v)
	}
	if err != nil {
		return fmt.Errorf("beside a visitor with half a request: %w", err)
	}
	if err := late.say(text[len(text)-2:]); err != nil {
		return err
	}
	if err := b.page(late); err != nil {
		return fmt.Errorf("a request whose end comes late: %w", err)
	}
	return nil
}
