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

// Config is what Run needs.
type Config struct {
	Client client.Config
	Server string // as it is shown
	Theme  string // see Options
	Dial   func(context.Context) (net.Conn, error)
	HTTP   *http.Client // sends files; nil: none are sent. It should keep no connection open
	Home   string       // what ~ stands for where a file is named; "" for itself
	In     *os.File     // a terminal
	Out    *os.File     // a terminal
}

// Run shows the client on a terminal until its user quits or ctx is done. It returns why the client
// could not be used, if it could not.
func Run(ctx context.Context, c Config) error {
	linked, stop := context.WithCancel(ctx)
	defer stop()
	m := NewModel(Options{Client: client.New(c.Client), Server: c.Server, Theme: c.Theme, Home: c.Home})
	var program *tea.Program
	// closed when the program has ended: then nobody takes what the link delivers
	over := make(chan struct{})
	var running sync.WaitGroup
	m.o.Stop = func() {
		if !m.leaving { // the link ends with the connection, which the server closes after QUIT
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
		m.o.Upload = func(to, token, file string) {
			running.Go(func() {
				where, err := link.Upload(linked, c.HTTP, to, token, file)
				deliver(uploaded{file, where, err})
			})
		}
	}
	program = tea.NewProgram(m, tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithContext(ctx))
	running.Go(func() { link.Run(linked, c.Dial, deliver) })
	_, err := program.Run()
	close(over)
	stop()
	running.Wait()
	if err == nil && m.refused() {
		return errors.New(m.client.Reason())
	}
	return err
}
