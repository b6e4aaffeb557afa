package serve

import (
	"context"
	"errors"
	"net"
)

func runProcesses(context.Context, net.Listener, work, Options) error { return errors.ErrUnsupported }
func runPrefork(context.Context, net.Listener, work, Options) error   { return errors.ErrUnsupported }
