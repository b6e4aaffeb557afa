package contract

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// fromDisk: the page is read on each request. One that is changed is seen at once, also one of
// another size.
func fromDisk(b *bench) error {
	v, err := b.visit()
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

// sleep: each request sleeps at least as long as the server was told.
func sleep(b *bench) error {
	v, err := b.visit()
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

// sleepBeside: of the requests on one connection the tenth sleeps, far longer than anybody waits
// here, and holds up nobody else's.
func sleepBeside(b *bench) error {
	sleeper, err := b.asleep()
	if err != nil {
		return err
	}
	for range 4 {
		v, err := b.visit()
		if err == nil {
			err = b.get(v, pagePath)
		}
		if err != nil {
			return fmt.Errorf("beside a request that sleeps: %w", err)
		}
	}
	if err := sleeper.SetReadDeadline(time.Now().Add(aMoment)); err != nil {
		return err
	}
	if _, err := sleeper.in.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("expected request %d to sleep, saw it answered before requests that came later", sleepEvery)
	}
	return nil
}

// asleep makes nine requests, which do not sleep, and a tenth, which does. It returns when the
// server has read it.
func (b *bench) asleep() (*visitor, error) {
	v, err := b.visit()
	if err != nil {
		return nil, err
	}
	for n := range sleepEvery - 1 {
		if err := b.get(v, pagePath); err != nil {
			return nil, fmt.Errorf("request %d, of which every %dth sleeps: %w", n+1, sleepEvery, err)
		}
	}
	if err := v.say(request("GET", pagePath)); err != nil {
		return nil, err
	}
	return v, b.read(v.client)
}

// read waits until the server has read all that c sent, as far as that can be seen.
func (b *bench) read(c *client) error {
	if err := b.arrived(c); err != nil {
		return err
	}
	for deadline := time.Now().Add(b.patience); b.process.Unread() > 0; time.Sleep(look) {
		if time.Now().After(deadline) {
			return errors.New("expected the server to read a request, saw it waiting")
		}
	}
	return nil
}

// endWhileAsleep: SIGTERM comes while a request sleeps and a connection is idle. The request is
// answered before its time, and the server ends.
func endWhileAsleep(b *bench) error {
	sleeper, err := b.asleep()
	if err != nil {
		return err
	}
	idle, err := b.visit()
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

// endWhileSending: SIGTERM comes while a large file is on its way to a client, which reads on, and
// a connection is idle. All of the file arrives, and the server ends.
func endWhileSending(b *bench) error {
	if err := b.www.putBig(); err != nil {
		return err
	}
	idle, err := b.visit()
	if err != nil {
		return err
	}
	if err := b.getAll(idle); err != nil {
		return err
	}
	v, err := b.visit()
	if err != nil {
		return err
	}
	if err := v.SetReadBuffer(64 << 10); err != nil {
		return err
	}
	if err := v.say(request("GET", bigPath)); err != nil {
		return err
	}
	if _, err := v.in.Peek(1); err != nil {
		return fmt.Errorf("GET %s: expected a response: %w", bigPath, plain(err))
	}
	return b.endDuring(func() error {
		a, err := v.hear("GET")
		if err != nil {
			return err
		}
		return a.isFile(bigPath, b.www.files[bigPath])
	})
}

// endDuring stops the server while answered reads the response that is due, and sees that both go
// well.
func (b *bench) endDuring(answered func() error) error {
	stopped := make(chan error, 1) // from the stopping goroutine, which ends then; one result
	go func() { stopped <- b.stop() }()
	err := answered()
	if stop := <-stopped; stop != nil {
		return errors.Join(stop, err)
	}
	if err != nil {
		return fmt.Errorf("after SIGTERM: a response that was due: %w", err)
	}
	if exit := b.process.Exit(); !exit.Success() {
		return fmt.Errorf("after SIGTERM: expected exit status 0, saw %s", exit)
	}
	return nil
}

// interruptWeb: SIGINT, which a terminal sends, ends the server like SIGTERM does.
func interruptWeb(b *bench) error {
	end, err := b.start()
	defer end()
	if err != nil {
		return err
	}
	v, err := b.visit()
	if err == nil {
		err = b.get(v, pagePath)
	}
	if err != nil {
		return err
	}
	if err := syscall.Kill(b.process.PID(), syscall.SIGINT); err != nil {
		return err
	}
	if err := b.gone(); err != nil {
		return fmt.Errorf("after SIGINT: %w", err)
	}
	return nil
}
