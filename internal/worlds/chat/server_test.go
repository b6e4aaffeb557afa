package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"weir/chat"
	"weir/chat/account"
	"weir/chat/export"
	"weir/chat/page"
	"weir/internal/disk"
	"weir/internal/disk/simdisk"
	"weir/internal/durable"
	"weir/serve"
	"weir/tcpip/netsim"
	"weir/web/server"
)

// room is the room of all clients.
const room = "#room"

// password is that of all accounts.
const password = "correct horse"

// dataDir is the data directory on the simulated disk.
const dataDir = "/chat"

// service is the chat as a program of a host: IRC on port 6667, WebSocket on port 80.
type service struct {
	w    *netsim.World
	host *netsim.Host
	turn chan struct{} // held by the run that has not crashed; capacity 1

	mu     sync.Mutex
	disk   *simdisk.Disk      // has the data directory
	stop   context.CancelFunc // of the current run
	halted bool               // it does not start again
}

// startService starts a chat with accounts on a host.
func startService(w *netsim.World, host *netsim.Host, accounts ...string) *service {
	s := &service{w: w, disk: simdisk.New(w.Rand().Uint64()), host: host, turn: make(chan struct{}, 1)}
	on := s.disk.Process()
	if err := (durable.Files{Disk: on}).MkdirAll(dataDir, 0o700); err != nil {
		w.Fatal(err)
	}
	store, err := account.Open(dataDir, account.Options{Disk: on, Iterations: 4096})
	if err != nil {
		w.Fatal(err)
	}
	defer store.Close()
	for _, name := range accounts {
		if _, err := store.Add(name, password, account.Member, false); err != nil {
			w.Fatal(err)
		}
	}
	host.Start(s.program)
	return s
}

// program serves until the host crashes, the world ends or halt is called. After a stop it starts
// again.
func (s *service) program(h *netsim.Host) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	for {
		ctx, stop := context.WithCancel(h.Context())
		on, halted := s.begin(stop)
		if halted || h.Context().Err() != nil {
			stop()
			return nil
		}
		err := s.run(ctx, h, on)
		stop()
		if err != nil {
			return err
		}
	}
}

// begin notes how to stop a run, and returns its disk.
func (s *service) begin(stop context.CancelFunc) (on disk.FS, halted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = stop
	return s.disk.Process(), s.halted
}

// run serves until ctx ends.
func (s *service) run(ctx context.Context, h *netsim.Host, on disk.FS) error {
	svc, err := chat.Open(dataDir, chat.Options{Disk: on, OnCommit: new(commitDelay).onCommit, Name: "chat.example", NoSearch: true, CommandsPerSecond: 100, MaxHistory: pageSize})
	if err != nil {
		return err
	}
	p, err := page.New(page.Config{Service: svc, OwnHost: func(string) bool { return true }})
	if err != nil {
		return errors.Join(err, svc.Close())
	}
	err = s.listen(ctx, h, svc, p)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, p.Close(), svc.Close())
}

// restart stops the chat as SIGTERM does, and starts it again.
func (s *service) restart() {
	s.w.Log("the chat stops, and starts again")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

// halt stops the chat as SIGTERM does, and returns when it has ended.
func (s *service) halt() {
	s.mu.Lock()
	s.halted = true
	s.stop()
	s.mu.Unlock()
	s.turn <- struct{}{}
}

// kill crashes the host, whose disk loses power: of what was not synced, any part survives.
func (s *service) kill() {
	s.host.Pause() // what it sends from now on is lost, too
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk = s.disk.Crash()
	s.host.Crash()
}

// pageSize is the number of messages that a client gets by one request.
const pageSize = 8

// listen serves both ports until ctx ends.
func (s *service) listen(ctx context.Context, h *netsim.Host, svc *chat.Service, p *page.Page) error {
	plain, err := h.Listen("tcp", ":6667")
	if err != nil {
		return err
	}
	web, err := h.Listen("tcp", ":80")
	if err != nil {
		plain.Close()
		return err
	}
	ended := make(chan error, 2) // from both servers -> here: one value each
	go func() {
		ended <- serve.Run(ctx, serve.Goroutine, plain, svc.Sessions(), serve.Options{SendQueue: chat.Outbox})
	}()
	go func() { ended <- server.Run(ctx, web, p, server.Config{}) }()
	return errors.Join(<-ended, <-ended)
}

// stored returns the messages of a log, oldest first: of the room, or of "ann,eve".
func (s *service) stored(name string) []message {
	var text bytes.Buffer
	dir := s.w.TempDir()
	if err := copyFiles(s.disk.Process(), dataDir, dir); err != nil {
		s.w.Fatal(err)
	}
	if _, err := export.Export(context.Background(), &text, dir, export.Options{Room: name, Format: export.JSONL}); err != nil {
		s.w.Fatal(err)
	}
	var all []message
	for line := range strings.Lines(text.String()) {
		var m export.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			s.w.Fatal(err)
		}
		if _, said, is := strings.Cut(m.Line, " PRIVMSG "); is {
			_, text, _ := strings.Cut(said, " :")
			all = append(all, message{m.MsgID, text})
		}
	}
	return all
}

// message is a stored message.
type message struct{ id, text string }
