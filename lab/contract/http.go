package contract

import (
	"fmt"
	"time"

	"weir/lab/subject"
)

// The parameters of the check of sleeping requests: every tenth request sleeps, for longer than the
// timeout of the checks.
const (
	sleepEvery = 10
	longSleep  = 60_000 // ms
	shortSleep = 200    // ms
)

// webChecks is the contract of an HTTP server.
var webChecks = []check{
	{name: "body", shares: true, run: withoutOutput(wholeBody)},
	{name: "fields", shares: true, workload: "files", run: withoutOutput(fields)},
	{name: "keep-alive", shares: true, run: withoutOutput(keepAlive)},
	{name: "pipelining", shares: true, run: withoutOutput(pipelining)},
	{name: "requests in pieces", shares: true, run: withoutOutput(pieces)},
	{name: "HEAD", shares: true, run: withoutOutput(headOnly)},
	{name: "404", shares: true, run: withoutOutput(notFound)},
	{name: "Connection: close", shares: true, run: withoutOutput(closing)},
	{name: "HTTP/1.0", shares: true, run: withoutOutput(oldVersion)},
	{name: "rubbish", shares: true, run: withoutOutput(malformed)},
	{name: "POST", shares: true, run: withoutOutput(unexpectedBody)},
	{name: "100 visitors", shares: true, run: withoutOutput(manyVisitors)},
	{name: "from disk", shares: true, workload: "page", run: withoutOutput(fromDisk)},
	{name: "half a request", shares: true, run: withoutOutput(halfRequest)},
	{name: "sleep", workload: "page", needs: "{sleep_ms}", params: subject.Params{SleepMS: shortSleep, SleepEvery: 1}, run: withoutOutput(sleep)},
	{name: "sleep beside others", workload: "page", needs: "{sleep_every}", params: subject.Params{SleepMS: longSleep, SleepEvery: sleepEvery}, run: withoutOutput(sleepBeside)},
	{name: "upstream", workload: "proxy", run: withoutOutput(viaUpstream)},
	{name: "gzip", workload: "files", needs: "{gzip}", params: subject.Params{Gzip: true}, run: withoutOutput(compressed)},
	{name: "TLS", workload: "files", needs: "{cert}", tls: true, run: withoutOutput(encrypted)},
	{name: "SIGTERM while answering", workload: "page", needs: "{sleep_every}", full: true, params: subject.Params{SleepMS: longSleep, SleepEvery: sleepEvery}, run: withoutOutput(endWhileAsleep)},
	{name: "SIGTERM while sending", workload: "files", full: true, run: withoutOutput(endWhileSending)},
	{name: "SIGINT", full: true, own: true, alone: interruptWeb},
	{name: "bad flags", full: true, own: true, alone: badFlags},
	{name: "port in use", full: true, own: true, alone: portInUse},
}

// withoutOutput converts a check that expects no output: an HTTP server writes nothing to standard
// output.
func withoutOutput(run func(*bench) error) func(*bench) (verify, error) {
	return func(b *bench) (verify, error) { return emptyOutput, run(b) }
}

// emptyOutput judges that there is no output.
func emptyOutput(output []byte) error {
	if len(output) > 0 {
		return fmt.Errorf("standard output: expected none, saw %d bytes: %.60q", len(output), output)
	}
	return nil
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
		if err := inParallel(many, func(i int) error { return b.getAll(all[i]) }); err != nil {
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
