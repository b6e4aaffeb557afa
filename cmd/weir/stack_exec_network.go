package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"weir/tcpip/cluster"
)

// runNetwork runs the programs of a file that describes a network.
func (c *stackExecCmd) runNetwork(ctx context.Context, t *terminal) error {
	if len(c.Command) > 0 || c.Impair != "" || c.Pcap != "" || c.Hosts != "" || len(c.Publish) > 0 || len(c.Loopback) > 0 || len(c.Deny) > 0 || len(c.DNS) > 0 {
		return usageError{errors.New("with --network, the file has all settings: leave the command and the other flags out")}
	}
	text, err := os.ReadFile(c.Network)
	if err != nil {
		return err
	}
	f, err := cluster.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Network, err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if c.Seed != 0 {
		f.Seed = c.Seed
	}
	if err := adoptOrphans(); err != nil {
		return err
	}
	var mu sync.Mutex
	defer endChildren() // none is left, unless a program was not started
	status, err := f.Run(ctx, cluster.Config{EndOrphans: endChildren, Self: []string{self, "stack", "exec-guard"}, Line: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(t.out, line)
	}})
	if err == nil && status != 0 {
		return statusError(status)
	}
	return err
}
