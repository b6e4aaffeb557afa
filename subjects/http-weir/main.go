// Command http-weir is Weir as a web server under test: a composition of components under the
// concurrency model of --way, on package web/server, whose connections --engine serves by the
// concurrency model of --model. The folders http-weir-* build it and differ in flags alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"weir/serve"
	"weir/web"
	"weir/web/server"
)

func main() {
	c, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "http-weir:", err)
		os.Exit(2)
	}
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, "http-weir:", err)
		os.Exit(1)
	}
}

// childVariable is the environment variable that tells a child process that it is one.
const childVariable = "HTTP_WEIR_CHILD"

// setProcesses sets what a model with child processes needs: they run this program with the same
// flags.
func setProcesses(s *server.Config) error {
	if !serve.Ways[s.Model].MultiProcess {
		return nil
	}
	program, err := os.Executable()
	s.ChildCommand, s.IsChild = append([]string{program}, os.Args[1:]...), os.Getenv(childVariable) != ""
	return errors.Join(err, os.Setenv(childVariable, "1"))
}

func run(c config) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	composition, err := compose(c)
	if err != nil {
		return err
	}
	h, err := web.New(composition, web.Options{Way: c.way})
	if err != nil {
		return err
	}
	defer h.Close()
	settings := server.Config{Addr: c.listen, Engine: c.engine, Model: c.model, DrainTimeout: 1500 * time.Millisecond}
	if c.cert != "" {
		settings.TLS = &server.TLS{CertFile: c.cert, KeyFile: c.key}
	}
	if err := setProcesses(&settings); err != nil {
		return err
	}
	s, err := server.New(h, settings)
	if err != nil {
		return err
	}
	// a client that sent half a request is cut off
	if err := s.Run(ctx); !errors.Is(err, server.ErrDrainTimeout) {
		return err
	}
	return nil
}
