//go:build !linux

package network

import "errors"

var errNotHere = errors.New("only Linux has network namespaces")

func cable(string, addresses) (*Network, error) { return nil, errNotHere }

func tap(string, addresses) (*Network, error) { return nil, errNotHere }

// In needs Linux.
func In(string, func() error) error { return errNotHere }

// Setting needs Linux.
func Setting(_, _ string) string { return "" }

// Set needs Linux.
func (n *Network) Set(_, _ string) error { return errNotHere }
