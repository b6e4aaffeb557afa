package http

import (
	"fmt"
	"net/http"
	"sync"

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
	{Name: "body", Shares: true, Run: contract.On(wholeBody)},
	{Name: "fields", Shares: true, Workload: "files", Run: contract.On(fields)},
	{Name: "keep-alive", Shares: true, Run: contract.On(keepAlive)},
	{Name: "pipelining", Shares: true, Run: contract.On(pipelining)},
	{Name: "requests in pieces", Shares: true, Run: contract.On(pieces)},
	{Name: "HEAD", Shares: true, Run: contract.On(headOnly)},
	{Name: "404", Shares: true, Run: contract.On(notFound)},
	{Name: "Connection: close", Shares: true, Run: contract.On(closing)},
	{Name: "HTTP/1.0", Shares: true, Run: contract.On(oldVersion)},
	{Name: "rubbish", Shares: true, Run: contract.On(malformed)},
	{Name: "POST", Shares: true, Run: contract.On(unexpectedBody)},
	{Name: "100 visitors", Shares: true, Run: contract.On(manyVisitors)},
	{Name: "from disk", Shares: true, Workload: "page", Run: contract.On(fromDisk)},
	{Name: "half a request", Shares: true, Run: contract.On(halfRequest)},
	{Name: "sleep", Workload: "page", Needs: "{sleep_ms}", Params: subject.Params{SleepMS: shortSleep, SleepEvery: 1}, Run: contract.On(sleep)},
	{Name: "sleep beside others", Workload: "page", Needs: "{sleep_every}", Params: subject.Params{SleepMS: longSleep, SleepEvery: sleepEvery}, Run: contract.On(sleepBeside)},
	{Name: "upstream", Workload: "proxy", Run: contract.On(viaUpstream)},
	{Name: "gzip", Workload: "files", Needs: "{gzip}", Params: subject.Params{Gzip: true}, Run: contract.On(compressed)},
	{Name: "TLS", Workload: "files", Needs: "{cert}", Prepare: addCertificate, Run: contract.On(encrypted)},
	{Name: "SIGTERM while answering", Workload: "page", Needs: "{sleep_every}", Full: true, Params: subject.Params{SleepMS: longSleep, SleepEvery: sleepEvery}, Run: contract.On(endWhileAsleep)},
	{Name: "SIGTERM while sending", Workload: "files", Full: true, Run: contract.On(endWhileSending)},
	{Name: "SIGINT", Full: true, Own: true, Run: contract.On(interrupt)},
	contract.BadFlags,
	contract.PortInUse,
}

// bench is one HTTP server under a check.
type bench struct {
	*contract.Bench
	www      *www       // the files that it serves
	upstream *upstream  // the server behind a proxy; nil for others
	large    sync.Mutex // held while a body is read beyond smallBody
}

// prepare makes the files, and starts the upstream of a proxy.
func prepare(c *contract.Bench) {
	b := &bench{Bench: c, www: newWWW(c.Dir)}
	c.State = b
	b.Params.Www = b.www.dir
	if b.Params.Workload == "proxy" {
		b.upstream = startUpstream(b.www.dir)
		b.Cleanup(b.upstream.close)
		b.Params.Upstream = b.upstream.addr
	}
}

// wholeBody checks that each file is sent completely, with its length and type, and nothing after
// it.
func wholeBody(b *bench) {
	for _, path := range b.paths() {
		v := b.dial()
		v.get(path)
		contract.During("the second request on the connection", func() { v.get(path, "Connection: close") })
		contract.During("after "+path, v.expectClose)
	}
}

// keepAlive checks fifty requests on one connection.
func keepAlive(b *bench) {
	v := b.dial()
	for n := range 50 {
		contract.During(fmt.Sprintf("request %d on one connection", n+1), v.getAll)
	}
}

// pipelining checks that several requests in one write are answered one after the other, in order.
func pipelining(b *bench) {
	v := b.dial()
	paths := append(b.paths(), "/missing", pagePath, pagePath, "/missing", pagePath)
	text := ""
	for _, path := range paths {
		text += request("GET", path)
	}
	v.write(text)
	for n, path := range paths {
		contract.During(fmt.Sprintf("request %d of %d in one write: GET %s", n+1, len(paths), path), func() {
			if path == "/missing" {
				v.read("GET").checkStatus(http.StatusNotFound)
			} else {
				v.readFile(path)
			}
		})
	}
	v.get(pagePath)
}

// pieces checks that a request may arrive in any number of segments.
func pieces(b *bench) {
	contract.During("a request in single bytes", func() {
		v := b.dial()
		contract.WriteSingly(v.TCPConn, request("GET", pagePath))
		v.readFile(pagePath)
	})
}

// manyVisitors checks a hundred connections that all stay open, with three requests on each.
func manyVisitors(b *bench) {
	const many, requests = 100, 3
	var all []*conn
	err := contract.Try(func() { all = b.dialAll(many) })
	contract.Expect(err == nil, "%w (a listen backlog that is too short can be the reason)", err)
	contract.During(fmt.Sprintf("on one of %d connections", many), func() {
		for range requests {
			contract.InParallel(many, func(i int) { all[i].getAll() })
		}
	})
}

// halfRequest checks that clients that send nothing, or half a request, or reset their connection,
// do not disturb others.
func halfRequest(b *bench) {
	all := b.dialAll(4)
	half, late, broken := all[1], all[2], all[3] // the first sends nothing
	text := request("GET", pagePath)
	half.write(text[:9])
	late.write(text[:len(text)-2])
	broken.write(text[:20])
	contract.Reset(broken.TCPConn)
	contract.During("with a client that has sent half a request", func() { b.dial().getAll() })
	late.write(text[len(text)-2:])
	contract.During("a request whose end is sent late", func() { late.readFile(pagePath) })
}
