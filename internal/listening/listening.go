// Package listening explains why a program cannot listen on an address: the address is malformed,
// in use, not permitted, or not one of this machine. Each has its own remedy, which the error
// names.
//
// Limitations: the four are known for TCP and UDP on Unix systems. Another error keeps its own
// text. Whether a host name exists only a name server knows, so Check accepts any.
package listening

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// ErrMalformed is wrapped by the error of an address that no machine could listen on.
var ErrMalformed = errors.New("malformed address")

// Error is why a program cannot listen on an address.
type Error struct {
	Address string // as it was given, HOST:PORT
	Reason  string // with what to do about it
	Err     error  // of package net
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("cannot listen on %s: %s", e.Address, e.Reason) }

// Unwrap returns the error of package net.
func (e *Error) Unwrap() error { return e.Err }

// Explain returns the error of listening on an address as an *Error, nil for nil.
func Explain(address string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Address: strconv.Quote(address), Err: err}
	if host, port, wrong := net.SplitHostPort(address); wrong == nil && !strings.ContainsAny(address, " \t\n\"") {
		e.Address = net.JoinHostPort(host, port)
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		e.Reason = "the address is in use by another program: choose another port, or stop that program"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		e.Reason = "this is not permitted: ports below 1024 take root or CAP_NET_BIND_SERVICE: choose a port from 1024 on, or grant that"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		e.Reason = "no interface of this machine has this address: give one that it has, or :PORT for all of them"
	case malformed(address):
		e.Reason, e.Err = reasonMalformed, errors.Join(ErrMalformed, err)
	default:
		e.Reason = reasonOf(err)
	}
	return e
}

const reasonMalformed = "the address is malformed: write HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or :8080"

// Check returns an *Error for a malformed address, before anything is opened.
func Check(address string) error {
	if !malformed(address) {
		return nil
	}
	return &Error{strconv.Quote(address), reasonMalformed, ErrMalformed}
}

// malformed reports whether an address has no host and port, or a port that cannot be. A host name
// may be wrong too, but only a name server knows.
func malformed(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return false
	}
	// "300.1.1.1" is no host name: the last label of one is not a number
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err = strconv.Atoi(last)
	return err == nil || strings.ContainsAny(host, " /:")
}

// reasonOf returns the text of an error of package net without the address, which Error states.
func reasonOf(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return fmt.Sprintf("there is no host %q: give an address of this machine, or :PORT for all of them", dns.Name)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err.Error()
	}
	return err.Error()
}
