package icmp

import "weir/wire"

// AppendError appends the ICMPv4 error that reports a problem with a packet. quote is that of
// Quote. at is the offset of the fault in the packet if the problem is BadHeader. A host reports
// PortUnreachable, ProtocolUnreachable, ReassemblyExceeded and BadHeader, a router the others too.
// HostUnreachable stands for those that have no code.
func AppendError(b []byte, what Problem, at int, quote []byte) []byte {
	switch what {
	case PortUnreachable:
		return wire.AppendICMP(b, wire.Unreachable, wire.PortUnreachable, 0, quote)
	case ProtocolUnreachable:
		return wire.AppendICMP(b, wire.Unreachable, wire.ProtocolUnreachable, 0, quote)
	case NetUnreachable:
		return wire.AppendICMP(b, wire.Unreachable, wire.NetUnreachable, 0, quote)
	case Prohibited:
		return wire.AppendICMP(b, wire.Unreachable, wire.CommProhibited, 0, quote)
	case ReassemblyExceeded:
		return wire.AppendICMP(b, wire.TimeExceeded, wire.ReassemblyExceeded, 0, quote)
	case BadHeader:
		return wire.AppendICMP(b, wire.ParameterProblem, 0, uint32(at)<<24, quote)
	}
	return wire.AppendICMP(b, wire.Unreachable, wire.HostUnreachable, 0, quote)
}
