package http

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
	"weir/lab/contract"
)

// fromDisk checks that the page is read for each request: a changed file is served at once, also
// with another size.
func fromDisk(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	for _, content := range [][]byte{b.www.files[pagePath], pageOf("It has changed.", 174), pageOf("It has grown.", 500)} {
		if err := b.www.put(pagePath, content); err != nil {
			return err
		}
		if err := b.get(v, pagePath); err != nil {
			return fmt.Errorf("after the file was changed: %w", err)
		}
	}
	return nil
}

// sleep checks that each request sleeps at least as long as configured.
func sleep(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	for range 3 {
		began := time.Now()
		if err := b.get(v, pagePath); err != nil {
			return err
		}
		if took := time.Since(began); took < shortSleep*time.Millisecond {
			return fmt.Errorf("expected a request to sleep for %d ms, saw it answered after %v", shortSleep, took.Round(time.Millisecond))
		}
	}
	return nil
}

// sleepBeside checks that a sleeping request does not delay others. Of the requests on one
// connection the tenth sleeps, for longer than the timeout of the check.
func sleepBeside(b *bench) error {
	sleeper, err := b.asleep()
	if err != nil {
		return err
	}
	for range 4 {
		v, err := b.dialHTTP()
		if err == nil {
			err = b.get(v, pagePath)
		}
		if err != nil {
			return fmt.Errorf("with a request that sleeps: %w", err)
		}
	}
	if err := sleeper.SetReadDeadline(time.Now().Add(contract.ExitNotice)); err != nil {
		return err
	}
	if _, err := sleeper.in.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("expected request %d to sleep, saw it answered before requests that came later", sleepEvery)
	}
	return nil
}

// asleep makes nine requests that do not sleep, and a tenth that does. It returns when the server
// has read the tenth.
func (b *bench) asleep() (*httpConn, error) {
	v, err := b.dialHTTP()
	if err != nil {
		return nil, err
	}
	for n := range sleepEvery - 1 {
		if err := b.get(v, pagePath); err != nil {
			return nil, fmt.Errorf("request %d, of which every %dth sleeps: %w", n+1, sleepEvery, err)
		}
	}
	if err := v.writeText(request("GET", pagePath)); err != nil {
		return nil, err
	}
	return v, b.awaitRead(v.TCPConn)
}

// awaitRead waits until the server has read all that c sent, as far as the system shows it.
func (b *bench) awaitRead(c *net.TCPConn) error {
	if err := b.AwaitArrival(c); err != nil {
		return err
	}
	for deadline := time.Now().Add(b.Timeout); b.Process.Unread() > 0; time.Sleep(contract.PollInterval) {
		if time.Now().After(deadline) {
			return errors.New("expected the server to read a request, saw it unread")
		}
	}
	return nil
}

// endWhileAsleep checks SIGTERM while a request sleeps and a connection is idle. The request is
// answered before its time, and the server exits.
func endWhileAsleep(b *bench) error {
	sleeper, err := b.asleep()
	if err != nil {
		return err
	}
	idle, err := b.dialHTTP()
	if err != nil {
		return err
	}
	for range 3 {
		if err := b.get(idle, pagePath); err != nil {
			return err
		}
	}
	return b.endDuring(func() error { return b.page(sleeper) })
}

// endWhileSending checks SIGTERM while a large file is being sent to a client, which reads on, and
// a connection is idle. The whole file arrives, and the server exits.
func endWhileSending(b *bench) error {
	if err := b.www.putBig(); err != nil {
		return err
	}
	idle, err := b.dialHTTP()
	if err != nil {
		return err
	}
	if err := b.getAll(idle); err != nil {
		return err
	}
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	if err := v.SetReadBuffer(64 << 10); err != nil {
		return err
	}
	if err := v.writeText(request("GET", bigPath)); err != nil {
		return err
	}
	if _, err := v.in.Peek(1); err != nil {
		return fmt.Errorf("GET %s: expected a response: %w", bigPath, contract.DescribeError(err))
	}
	return b.endDuring(func() error {
		a, err := v.readResponse("GET")
		if err != nil {
			return err
		}
		return a.checkFile(bigPath, b.www.files[bigPath])
	})
}

// endDuring stops the server while answered reads the outstanding response, and checks both.
func (b *bench) endDuring(answered func() error) error {
	stopped := make(chan error, 1) // one result, from the stopping goroutine
	go func() { stopped <- b.Stop() }()
	err := answered()
	if stop := <-stopped; stop != nil {
		return errors.Join(stop, err)
	}
	if err != nil {
		return fmt.Errorf("after SIGTERM: a response that was due: %w", err)
	}
	if exit := b.Process.Exit(); !exit.Success() {
		return fmt.Errorf("after SIGTERM: expected exit status 0, saw %s", exit)
	}
	return nil
}

// interrupt checks that SIGINT, which a terminal sends, stops the server as SIGTERM does.
func interrupt(b *bench) error {
	v, err := b.dialHTTP()
	if err == nil {
		err = b.get(v, pagePath)
	}
	if err != nil {
		return err
	}
	return b.Interrupt()
}
