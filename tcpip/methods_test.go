package tcpip

import (
	"net"
	"reflect"
	"slices"
	"testing"
)

// A program that uses connections and sockets of package net can use those of the stack: they have
// the same methods, but those about descriptors and what docs/moving-from-gvisor.md lists.
func TestTypesHaveTheMethodsOfPackageNet(t *testing.T) {
	descriptors := []string{"File", "SyscallConn"}
	for _, c := range []struct {
		of, got reflect.Type
		lacks   []string
	}{
		{reflect.TypeFor[*net.TCPConn](), reflect.TypeFor[*Conn](), []string{"MultipathTCP"}},
		{reflect.TypeFor[*net.TCPListener](), reflect.TypeFor[*Listener](), nil},
		// instead: ReadMsg, WriteMsg
		{reflect.TypeFor[*net.UDPConn](), reflect.TypeFor[*UDPConn](), []string{"ReadMsgUDP", "ReadMsgUDPAddrPort", "WriteMsgUDP", "WriteMsgUDPAddrPort"}},
	} {
		for m := range c.of.Methods() {
			_, has := c.got.MethodByName(m.Name)
			if want := !slices.Contains(c.lacks, m.Name) && !slices.Contains(descriptors, m.Name); has != want {
				t.Errorf("%v, method %s of %v: got %v, want %v", c.got, m.Name, c.of, has, want)
			}
		}
	}
}
