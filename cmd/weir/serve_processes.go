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

// enter notes the working directory for child processes. In a child it is that of the parent's
// arguments.
func (c *serveRunCmd) enter() (err error) {
	if directory := os.Getenv(childVariable); directory != "" {
		c.isChild = true
		return errors.Join(os.Unsetenv(childVariable), os.Chdir(directory))
	}
	c.directory, err = os.Getwd()
	return err
}

// setProcesses sets what a model with child processes needs.
func (c *serveRunCmd) setProcesses(config *server.Config) error {
	if !serve.Ways[config.Model].MultiProcess {
		return nil
	}
	program, err := os.Executable()
	config.ChildCommand, config.IsChild = append([]string{program}, os.Args[1:]...), c.isChild
	if err == nil && !c.isChild {
		err = os.Setenv(childVariable, c.directory)
	}
	return err
}

// checkFlags returns an error for flags that the model of a server cannot have. Reading the site
// file has checked its attributes.
func (c *serveRunCmd) checkFlags(all []service, b beside) error {
	for _, one := range all {
		way := one.config.Model
		switch {
		case c.Stack != "" && serve.Ways[way].NeedsDescriptor:
			return usageError{fmt.Errorf("the model %s needs sockets of the kernel: leave --stack out, or choose %s or %s", way, serve.Goroutine, serve.Pool)}
		case !serve.Ways[way].MultiProcess:
		case b.address != "":
			return usageError{fmt.Errorf("the model %s spreads connections over processes, and the admin page shows one: leave --admin and the attribute admin out", way)}
		}
	}
	return nil
}
