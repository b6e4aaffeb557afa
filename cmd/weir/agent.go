package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"weir/lab/agent"
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
}

// Help is the long part of the command's help.
func (c *agentCmd) Help() string {
	return `Connects to the coordinator of a run, and offers the parts of its load that it is given, until the coordinator closes. The coordinator shows the command line; the token is not in it, because other users of a machine see arguments.

The connection uses TLS, and only the certificate with this fingerprint is trusted. An agent runs nothing but weir load, without the flags that name files. It must have the version of the coordinator.

Examples:

  weir lab agent --nats tls://192.0.2.1:4222 --fingerprint sha256:... --token-file token
  WEIR_AGENT_TOKEN=... weir lab agent --nats tls://192.0.2.1:4222 --fingerprint sha256:... --name left`
}

// Run serves until the coordinator closes.
func (c *agentCmd) Run(ctx context.Context, t *terminal) error {
	token, err := c.token()
	if err != nil {
		return err
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("cannot read the host name: %w: give --name", err)
		}
		c.Name = strings.ReplaceAll(host, ".", "_")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return agent.Serve(ctx, agent.ServeConfig{
		URL: c.NATS, Fingerprint: c.Fingerprint, Token: token, Name: c.Name, Version: buildVersion(), Load: []string{self, "load"},
		Connected: func() { fmt.Fprintf(t.err, "weir: agent %s is ready\n", c.Name) },
	})
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
