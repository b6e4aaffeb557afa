//go:build !unix

package nat

import "net"

// rawReader is not available here.
func rawReader(net.Conn) func(use func([]byte)) error { return nil }

// refuseBroadcast does nothing here: the package comment says so.
func refuseBroadcast(net.Conn) error { return nil }

// rawWriter is not available here.
func rawWriter(net.Conn) func([]byte) error { return nil }
