package http

import (
	"fmt"
	"time"

	"weir/lab/contract"
	"weir/lab/subject"
)

// The parameters of the check of sleeping requests: every tenth request sleeps, for longer than the
// timeout of the checks.
const (
	sleepEvery = 10
	longSleep  = 60_000 // ms
	shortSleep = 200    // ms
)

// Contract is the contract of HTTP servers, the workloads page, files and proxy: the right bytes
// with the right length for every form of request, one response per request on persistent
// connections. No client delays another, even with a request that sleeps.
var Contract = contract.Kind{
	Workloads: []string{"page", "files", "proxy"},
	Prepare:   prepare,
	Output:    contract.NoOutput,
	OwnFlags:  []string{"--listen {addr}", "--workload {workload}"},
	Checks:    checks,
}

var checks = []contract.Check{
	{Name: "body", Shares: true, Run: on(wholeBody)},
	{Name: "fields", Shares: true, Workload: "files", Run: on(fields)},
	{Name: "keep-alive", Shares: true, Run: on(keepAlive)},
	{Name: "pipelining", Shares: true, Run: on(pipelining)},
	{Name: "requests in pieces", Shares: true, Run: on(pieces)},
	{Name: "HEAD", Shares: true, Run: on(headOnly)},
	{Name: "404", Shares: true, Run: on(notFound)},
	{Name: "Connection: close", Shares: true, Run: on(closing)},
	{Name: "HTTP/1.0", Shares: true, Run: on(oldVersion)},
	{Name: "rubbish", Shares: true, Run: on(malformed)},
	{Name: "POST", Shares: true, Run: on(unexpectedBody)},
	{Name: "100 visitors", Shares: true, Run: on(manyVisitors)},
	{Name: "from disk", Shares: true, Workload: "page", Run: on(fromDisk)},
	{Name: "half a request", Shares: true, Run: on(halfRequest)},
	{Name: "sleep", Workload: "page", Needs: "{sleep_ms}", Params: subject.Params{SleepMS: shortSleep, SleepEvery: 1}, Run: on(sleep)},
	{Name: "sleep beside others", Workload: "page", Needs: "{sleep_every}", Params: subject.Params{SleepMS: longSleep, SleepEvery: sleepEvery}, Run: on(sleepBeside)},
	{Name: "upstream", Workload: "proxy", Run: on(viaUpstream)},
	{Name: "gzip", Workload: "files", Needs: "{gzip}", Params: subject.Params{Gzip: true}, Run: on(compressed)},
	{Name: "TLS", Workload: "files", Needs: "{cert}", Prepare: addCertificate, Run: on(encrypted)},
	{Name: "SIGTERM while answering", Workload: "page", Needs: "{sleep_every}", Full: true, Params: subject.Params{SleepMS: longSleep, SleepEvery: sleepEvery}, Run: on(endWhileAsleep)},
	{Name: "SIGTERM while sending", Workload: "files", Full: true, Run: on(endWhileSending)},
	{Name: "SIGINT", Full: true, Own: true, Run: on(interrupt)},
	contract.BadFlags,
	contract.PortInUse,
}

// bench is one HTTP server under a check.
type bench struct {
	*contract.Bench
	www      *www      // the files that it serves
	upstream *upstream // the server behind a proxy; nil for others
}

// prepare makes the files, and starts the upstream of a proxy.
func prepare(c *contract.Bench) (err error) {
	b := &bench{Bench: c}
	c.State = b
	if b.www, err = newWWW(b.Dir); err != nil {
		return err
	}
	b.Params.Www = b.www.dir
	if b.Params.Workload != "proxy" {
		return nil
	}
	if b.upstream, err = startUpstream(b.www.dir); err != nil {
		return err
	}
	b.Cleanup(b.upstream.close)
	b.Params.Upstream = b.upstream.addr
	return nil
}

// on converts a check.
func on(run func(*bench) error) func(*contract.Bench) error {
	return func(b *contract.Bench) error { return run(b.State.(*bench)) }
}

// wholeBody checks that each file is sent completely, with its length and type, and nothing after
// it.
func wholeBody(b *bench) error {
	for _, path := range b.paths() {
		v, err := b.dialHTTP()
		if err != nil {
			return err
		}
		if err := b.get(v, path); err != nil {
			return err
		}
		if err := b.get(v, path, "Connection: close"); err != nil {
			return fmt.Errorf("the second request on the connection: %w", err)
		}
		if err := v.expectClose(); err != nil {
			return fmt.Errorf("after %s: %w", path, err)
		}
	}
	return nil
}

// keepAlive checks fifty requests on one connection.
func keepAlive(b *bench) error {
	v, err := b.dialHTTP()
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

// pipelining checks that several requests in one write are answered one after the other, in order.
func pipelining(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	paths := append(b.paths(), "/missing", pagePath, pagePath, "/missing", pagePath)
	text := ""
	for _, path := range paths {
		text += request("GET", path)
	}
	if err := v.writeText(text); err != nil {
		return err
	}
	for n, path := range paths {
		a, err := v.readResponse("GET")
		content, there := b.www.files[path]
		switch {
		case err != nil:
		case there:
			err = a.checkFile(path, content)
		default:
			err = a.checkStatus(404)
		}
		if err != nil {
			return fmt.Errorf("request %d of %d in one write: GET %s: %w", n+1, len(paths), path, err)
		}
	}
	return b.get(v, pagePath)
}

// pieces checks that a request may arrive in any number of segments.
func pieces(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	text := request("GET", pagePath)
	for i := 0; i < len(text) && err == nil; i++ {
		err = v.writeText(text[i : i+1])
		if i%8 == 0 {
			time.Sleep(time.Millisecond) // so that some of them are read separately
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

// manyVisitors checks a hundred connections that all stay open, with three requests on each.
func manyVisitors(b *bench) error {
	const many, requests = 100, 3
	all, err := b.dialAllHTTP(many)
	if err != nil {
		return fmt.Errorf("%w (a listen backlog that is too short can be the reason)", err)
	}
	for range requests {
		if err := contract.InParallel(many, func(i int) error { return b.getAll(all[i]) }); err != nil {
			return fmt.Errorf("on one of %d connections: %w", many, err)
		}
	}
	return nil
}

// halfRequest checks that clients that send nothing, or half a request, or reset their connection,
// do not disturb others.
func halfRequest(b *bench) error {
	all, err := b.dialAllHTTP(4)
	if err != nil {
		return err
	}
	half, late, broken := all[1], all[2], all[3] // the first sends nothing
	text := request("GET", pagePath)
	if err := half.writeText(text[:9]); err != nil {
		return err
	}
	if err := late.writeText(text[:len(text)-2]); err != nil {
		return err
	}
	if err := broken.writeText(text[:20]); err != nil {
		return err
	}
	if err := broken.SetLinger(0); err != nil {
		return err
	}
	broken.Close()
	v, err := b.dialHTTP()
	if err == nil {
		err = b.getAll(v)
	}
	if err != nil {
		return fmt.Errorf("with a client that has sent half a request: %w", err)
	}
	if err := late.writeText(text[len(text)-2:]); err != nil {
		return err
	}
	if err := b.page(late); err != nil {
		return fmt.Errorf("a request whose end is sent late: %w", err)
	}
	return nil
}
