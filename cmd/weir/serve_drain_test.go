package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"weir/web/server"
)

// held is a server in a test. Its handler holds each request until the test lets it go.
type held struct {
	service
	arrived, release chan struct{} // unbuffered, of each request: the handler -> the test, and back
}

func hold(t *testing.T, name string, drain time.Duration) *held {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &held{arrived: make(chan struct{}), release: make(chan struct{})}
	h.service = service{name: name, config: server.Config{Listener: l, DrainTimeout: drain}}
	h.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.arrived <- struct{}{}
		select {
		case <-h.release:
			_, _ = io.WriteString(w, "complete")
		case <-r.Context().Done():
		}
	})
	return h
}

// ask starts a request, and returns the channel of its response when the handler has it.
func (h *held) ask() <-chan string {
	answer := make(chan string, 1)
	url := "http://" + h.config.Listener.Addr().String()
	go func() {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(url)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answer <- string(body)
	}()
	<-h.arrived
	return answer
}

// refuses waits until a server accepts no more connections.
func (h *held) refuses(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", h.config.Listener.Addr().String())
		if err != nil {
			return
		}
		c.Close()
	}
	t.Errorf("the server %s accepts connections 30 s after the stop, want it to refuse them", h.name)
}

// running runs servers until stop, and returns the channel of their error.
func running(t *testing.T, all ...*held) (stop func(), ended <-chan error) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	var services []service
	for _, h := range all {
		services = append(services, h.service)
	}
	ctx, stop := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- serveWeb(ctx, &terminal{out: null, err: null}, services, beside{}) }()
	return stop, result
}

func TestAllServersStopAcceptingAtOnceAndEachCompletesItsRequests(t *testing.T) {
	a, b := hold(t, "a", time.Minute), hold(t, "b", time.Minute)
	stop, ended := running(t, a, b)
	first, second := a.ask(), b.ask()
	stop()
	a.refuses(t)
	b.refuses(t)
	select {
	case err := <-ended:
		t.Fatalf("with requests in progress: got the end (%v), want the servers to wait", err)
	default:
	}
	a.release <- struct{}{}
	b.release <- struct{}{}
	if got := []string{<-first, <-second}; got[0] != "complete" || got[1] != "complete" {
		t.Errorf("got %q, want both responses complete", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func TestEachServerDrainsWithinItsOwnTimeout(t *testing.T) {
	a, b := hold(t, "a", time.Minute), hold(t, "b", time.Millisecond)
	stop, ended := running(t, a, b)
	first, second := a.ask(), b.ask()
	stop()
	if got := <-second; got == "complete" {
		t.Errorf("server b: got %q, want its request cut off after a millisecond", got)
	}
	a.release <- struct{}{}
	if got := <-first; got != "complete" {
		t.Errorf("server a: got %q, want its request complete", got)
	}
	if err := <-ended; !errors.Is(err, server.ErrDrainTimeout) || !strings.HasPrefix(err.Error(), `server "b": `) {
		t.Errorf("got %v, want the error of b: it was cut off", err)
	}
}

func TestOneServerThatFailsStopsTheOthers(t *testing.T) {
	a, b := hold(t, "a", time.Minute), hold(t, "b", time.Minute)
	_, ended := running(t, a, b)
	answer := b.ask()
	a.config.Listener.Close()
	b.refuses(t)
	b.release <- struct{}{}
	if got := <-answer; got != "complete" {
		t.Errorf("server b: got %q, want its request complete", got)
	}
	if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), `server "a": `) {
		t.Errorf("got %v, want the error of a", err)
	}
}
