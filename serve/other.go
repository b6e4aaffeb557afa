//go:build !linux

package serve

import (
	"context"
	"errors"
	"net"
)

const onLinux = false

var errLinux = errors.New("serve: this concurrency model needs Linux")

func runLoop(context.Context, net.Listener, serviceForm, Options) error { return errLinux }

func runCoroutine(context.Context, net.Listener, serviceForm, Options) error { return errLinux }

func runPrefork(context.Context, net.Listener, serviceForm, Options) error { return errLinux }
