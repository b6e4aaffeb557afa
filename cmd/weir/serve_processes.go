package main

import (
	"errors"
	"fmt"
	"os"

	"weir/serve"
	"weir/web/server"
)

// childVariable is the environment variable that makes weir serve a child process of another one.
// Its value is the working directory in which the arguments were written.
const childVariable = "WEIR_SERVE_CHILD"

// enterChild prepares a child process, or its parent, for a model with child processes.
func (c *serveRunCmd) enterChild() error {
	if c.Model == "" {
		return nil
	}
	way, err := serve.ParseWay(c.Model)
	if err != nil || !serve.Ways[way].MultiProcess {
		return err
	}
	switch {
	case c.Stack != "":
		return usageError{fmt.Errorf("--model %s needs sockets of the kernel, which processes can share: leave --stack out", c.Model)}
	case c.Admin != "":
		return usageError{fmt.Errorf("--model %s spreads connections over processes, and the admin page shows one: leave --admin out", c.Model)}
	}
	if directory := os.Getenv(childVariable); directory != "" {
		c.isChild = true
		return os.Chdir(directory)
	}
	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	return os.Setenv(childVariable, directory)
}

// setProcesses sets what a model with child processes needs.
func (c *serveRunCmd) setProcesses(config *server.Config) (err error) {
	if !serve.Ways[config.Model].MultiProcess {
		return nil
	}
	program, err := os.Executable()
	config.ChildCommand, config.IsChild = append([]string{program}, os.Args[1:]...), c.isChild
	return err
}

// checkProcesses returns an error for what a site has and processes cannot share.
func checkProcesses(all []service, b beside) error {
	way := all[0].config.Model
	switch {
	case !serve.Ways[way].MultiProcess:
		return nil
	case len(all) > 1:
		return usageError{fmt.Errorf("--model %s is for one server, and the site file has %d: choose another model", way, len(all))}
	case b.address != "":
		return usageError{errors.New("--model " + way.String() + " spreads connections over processes, and the admin page shows one: remove the attribute admin")}
	}
	return nil
}
