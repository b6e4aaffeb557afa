//go:build !linux

package lab

import "errors"

type vethPair struct{ server, load, serverAddr string }

func newVethPair(string) (*vethPair, error) {
	return nil, errors.New("only Linux has network namespaces")
}

func (*vethPair) remove() error { return nil }

func congestionIn(string) string { return "" }
