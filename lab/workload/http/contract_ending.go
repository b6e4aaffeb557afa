package http

import (
	"errors"
	"fmt"
	"os"
	"time"

	"weir/lab/contract"
)

// fromDisk checks that the page is read for each request: a changed file is served at once, also
// with another size.
func fromDisk(b *bench) {
	v := b.dial()
	for _, content := range [][]byte{b.www.files[pagePath], pageOf("It has changed.", 174), pageOf("It has grown.", 500)} {
		b.www.put(pagePath, content)
		contract.During("after the file was changed", func() { v.get(pagePath) })
	}
}

// sleep checks that each request sleeps at least as long as configured.
func sleep(b *bench) {
	v := b.dial()
	for range 3 {
		began := time.Now()
		v.get(pagePath)
		took := time.Since(began)
		contract.Expect(took >= shortSleep*time.Millisecond, "expected a request to sleep for %d ms, saw it answered after %v", shortSleep, took.Round(time.Millisecond))
	}
}

// sleepBeside checks that a sleeping request does not delay others. Of the requests on one
// connection the tenth sleeps, for longer than the timeout of the check.
func sleepBeside(b *bench) {
	sleeper := b.asleep()
	for range 4 {
		contract.During("with a request that sleeps", func() { b.dial().get(pagePath) })
	}
	contract.Must(sleeper.SetReadDeadline(time.Now().Add(contract.ExitNotice)))
	_, err := sleeper.in.Peek(1)
	contract.Expect(errors.Is(err, os.ErrDeadlineExceeded), "expected request %d to sleep, saw it answered before requests that came later", sleepEvery)
}

// asleep makes nine requests that do not sleep, and a tenth that does. It returns when the server
// has read the tenth, as far as the system shows it.
func (b *bench) asleep() *conn {
	v := b.dial()
	for n := range sleepEvery - 1 {
		contract.During(fmt.Sprintf("request %d, of which every %dth sleeps", n+1, sleepEvery), func() { v.get(pagePath) })
	}
	v.write(request("GET", pagePath))
	b.AwaitArrival(v.TCPConn)
	for deadline := time.Now().Add(b.Timeout); b.Process.Unread() > 0; time.Sleep(contract.PollInterval) {
		contract.Expect(!time.Now().After(deadline), "expected the server to read a request, saw it unread")
	}
	return v
}

// endWhileAsleep checks SIGTERM while a request sleeps and a connection is idle. The request is
// answered before its time, and the server exits.
func endWhileAsleep(b *bench) {
	sleeper, idle := b.asleep(), b.dial()
	for range 3 {
		idle.get(pagePath)
	}
	b.terminate(sleeper, pagePath)
}

// endWhileSending checks SIGTERM while a large file is being sent to a client, which reads on, and
// a connection is idle. The whole file arrives, and the server exits.
func endWhileSending(b *bench) {
	b.www.putBig()
	b.dial().getAll()
	v := b.dial()
	contract.Must(v.SetReadBuffer(64 << 10))
	v.write(request("GET", bigPath))
	_, err := v.in.Peek(1)
	contract.Expect(err == nil, "GET %s: expected a response: %w", bigPath, contract.DescribeError(err))
	b.terminate(v, bigPath)
}

// terminate stops the server while v reads the outstanding response, and checks both.
func (b *bench) terminate(v *conn, path string) {
	b.Terminate(func() { contract.During("a response that was due", func() { v.readFile(path) }) })
}

// interrupt checks that SIGINT, which a terminal sends, stops the server as SIGTERM does.
func interrupt(b *bench) {
	b.dial().get(pagePath)
	b.Interrupt()
}
