package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"

	"weir/lab/agent"
	"weir/lab/sample"
)

// agentTokenVariable is the environment variable that may hold the token of weir lab agent.
const agentTokenVariable = "WEIR_AGENT_TOKEN"

// maxTokenFile is the longest token file that is read, in bytes.
const maxTokenFile = 4096

// agentCmd is "weir lab agent".
type agentCmd struct {
	NATS        string `name:"nats" required:"" placeholder:"URL" help:"The coordinator: tls://HOST:PORT."`
	Fingerprint string `required:"" placeholder:"sha256:HEX" help:"Fingerprint of the coordinator's certificate."`
	TokenFile   string `predictor:"file" placeholder:"FILE" help:"File with the coordinator's token (default: the environment variable WEIR_AGENT_TOKEN holds it)."`
	Name        string `placeholder:"NAME" help:"Name of this agent, unlike those of the others: letters, digits, - and _ (default: the host name)."`

	Beside  string   `placeholder:"SUBJECT" help:"Measure the server of this subject, instead of offering load: one that runs (--pid), or the command after --."`
	PID     int      `name:"pid" placeholder:"PID" help:"Process of the server; its descendants count too."`
	Command []string `arg:"" optional:"" passthrough:"" help:"With --beside: the command that starts the server, after --. It is stopped when the agent ends."`
}

// Help is the long part of the command's help.
func (c *agentCmd) Help() string {
	return `Connects to the coordinator of a run, and offers the parts of its load that it is given, until the coordinator closes. The coordinator shows the command line; the token is not in it, because other users of a machine see arguments.

With --beside, the agent runs on the machine of a server that the lab does not start, and measures the CPU and the memory of its processes. Its name has the subject's as well, unless --name is given. The lab run has the flag --beside, too.

The connection uses TLS, and only the certificate with this fingerprint is trusted. An agent runs nothing but weir load, without the flags that name files. It must have the version of the coordinator.

Examples:

  weir lab agent --nats tls://192.0.2.1:4222 --fingerprint sha256:... --token-file token
  WEIR_AGENT_TOKEN=... weir lab agent --nats tls://192.0.2.1:4222 --fingerprint sha256:... --name left
  weir lab agent --nats tls://192.0.2.1:4222 --fingerprint sha256:... --token-file token --beside mine -- ./server --port 8080`
}

// Run serves until the coordinator closes.
func (c *agentCmd) Run(ctx context.Context, t *terminal) error {
	if err := c.check(); err != nil {
		return usageError{err}
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	if err := c.chooseName(); err != nil {
		return err
	}
	if warning := c.exposedToken(); warning != "" {
		fmt.Fprintln(t.err, "weir: warning:", warning)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	group, stop, err := c.server(t)
	if err != nil {
		return err
	}
	err = agent.Serve(ctx, agent.ServeConfig{
		URL: c.NATS, Fingerprint: c.Fingerprint, Token: token, Name: c.Name, Version: buildVersion(), Load: []string{self, "load"},
		Beside: c.Beside, Group: group,
		Connected: func() { fmt.Fprintf(t.err, "weir: agent %s is ready\n", c.Name) },
	})
	if err == nil {
		fmt.Fprintf(t.err, "weir: agent %s ends: the coordinator has closed\n", c.Name)
	}
	return errors.Join(err, stop())
}

// check returns what is wrong with the flags on a server.
func (c *agentCmd) check() error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	switch {
	case c.Beside == "" && (c.PID != 0 || len(c.Command) > 0):
		return errors.New("lab agent: a server is measured with --beside SUBJECT only: add it")
	case c.Beside != "" && (c.PID != 0) == (len(c.Command) > 0):
		return errors.New("lab agent: --beside needs the server: give either --pid PID or its command after --")
	case c.PID < 0:
		return fmt.Errorf("lab agent: there is no process %d: give the server's ID", c.PID)
	}
	return nil
}

// notInName matches what the name of an agent cannot have.
var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// chooseName sets the name of the agent if it is not given.
func (c *agentCmd) chooseName() error {
	if c.Name != "" {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("cannot read the host name: %w: give --name", err)
	}
	c.Name = host
	if c.Beside != "" {
		c.Name += "-" + c.Beside
	}
	c.Name = notInName.ReplaceAllString(c.Name, "_")
	c.Name = c.Name[:min(len(c.Name), 64)]
	return nil
}

// server returns the processes of the server that the agent is beside; nil if it is beside none. It
// starts the command, which stop stops.
func (c *agentCmd) server(t *terminal) (g *sample.Group, stop func() error, err error) {
	switch {
	case c.Beside == "":
		return nil, func() error { return nil }, nil
	case c.PID != 0:
		g, err = sample.Observe(c.PID)
		return g, func() error { return nil }, err
	}
	if g, err = sample.NewGroup(c.Beside); err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Stdout, cmd.Stderr = t.err, t.err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the agent
	if err := g.Start(cmd, sample.Placement{}); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cannot start the server: %w", err), g.Close())
	}
	return g, func() error { return stopServer(cmd, g) }, nil
}

// serverGrace is how long a server may take to stop.
const serverGrace = 5 * time.Second

// stopServer stops a server by SIGTERM, and kills what is left of it.
func stopServer(cmd *exec.Cmd, g *sample.Group) error {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(serverGrace, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait() // any end is that which was asked for
	return g.Close()
}

// exposedToken returns a warning if other users can read the file of the token, and "" otherwise.
func (c *agentCmd) exposedToken() string {
	info, err := os.Stat(c.TokenFile)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("other users of this machine can read the token in %s, and pose as an agent: run chmod 600 on it", c.TokenFile)
}

// token reads the token from its file or the environment. It removes the variable, so that loads do
// not inherit it.
func (c *agentCmd) token() (string, error) {
	token := os.Getenv(agentTokenVariable)
	if err := os.Unsetenv(agentTokenVariable); err != nil {
		return "", err
	}
	if c.TokenFile == "" {
		if token == "" {
			return "", usageError{errors.New("the token is missing: give --token-file, or set " + agentTokenVariable)}
		}
		return token, nil
	}
	f, err := os.Open(c.TokenFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	text = bytes.TrimSpace(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the token: %w", err)
	case len(text) == 0 || len(text) > maxTokenFile || bytes.ContainsAny(text, "\r\n"):
		return "", fmt.Errorf("the file %s does not hold a token: copy the coordinator's file", c.TokenFile)
	}
	return string(text), nil
}
