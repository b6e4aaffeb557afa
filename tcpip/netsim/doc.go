// Package netsim simulates stacks of package tcpip on links that delay, lose and reorder frames, in
// the virtual time of testing/synctest. It consists of tests; there is nothing to import.
//
// # Limitations
//
// Two hosts and one path. Only the protocol is measured, not the processor: computing takes no
// virtual time.
package netsim
