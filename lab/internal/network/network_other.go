//go:build !linux

package network

import "errors"

var errNotHere = errors.New("only Linux has network namespaces")

// Cable is Linux's.
func Cable(string) (*Network, error) { return nil, errNotHere }

// Tap is Linux's.
func Tap(string) (*Network, error) { return nil, errNotHere }

// In is Linux's.
func In(string, func() error) error { return errNotHere }

// Setting is Linux's.
func Setting(_, _ string) string { return "" }

// Set is Linux's.
func (n *Network) Set(_, _ string) error { return errNotHere }
