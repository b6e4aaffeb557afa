// Package netsim holds simulations: stacks of package tcpip on links that delay, lose and reorder,
// in the virtual time of testing/synctest. They are its tests; there is nothing to import.
//
// # Limitations
//
// Two hosts and one path. What is measured is the protocol, not the processor: in virtual time
// computing costs nothing.
package netsim
