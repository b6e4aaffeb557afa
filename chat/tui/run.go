package tui

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"

	"weir/chat/client"
	"weir/chat/client/link"
)

// Config are the parameters of Run.
type Config struct {
	Client client.Config
	Server string // the server's address, for display
	Theme  string // see Options
	Dial   func(context.Context) (net.Conn, error)
	HTTP   *http.Client // uploads files; nil disables uploads. It should keep no idle connections
	Home   string       // replaces ~ in names of files; "" leaves it
	In     *os.File     // a terminal
	Out    *os.File     // a terminal
}

// Run shows the client on a terminal until the user quits or ctx is done. If the client failed
// before it was online, Run returns the reason.
func Run(ctx context.Context, c Config) error {
	linked, stop := context.WithCancel(ctx)
	defer stop()
	m := NewModel(Options{Client: client.New(c.Client), Server: c.Server, Theme: c.Theme, Home: c.Home})
	var program *tea.Program
	// Closed when the program has ended: it then no longer receives signals.
	over := make(chan struct{})
	var running sync.WaitGroup
	m.options.Stop = func() {
		// while quitting, the link ends when the server closes the connection after QUIT
		if !m.quitting {
			stop()
		}
	}
	deliver := func(signal any) {
		select {
		case <-over:
		default:
			program.Send(signal)
		}
	}
	if c.HTTP != nil {
		m.options.Upload = func(to, token, file string) {
			running.Go(func() {
				where, err := link.Upload(linked, c.HTTP, to, token, file)
				deliver(uploadResult{file, where, err})
			})
		}
	}
	program = tea.NewProgram(m, tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithContext(ctx))
	running.Go(func() { link.Run(linked, c.Dial, deliver) })
	_, err := program.Run()
	close(over)
	stop()
	running.Wait()
	if err == nil && m.neverOnline() {
		return errors.New(m.client.Reason())
	}
	return err
}
