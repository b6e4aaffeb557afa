//go:build amd64 || arm64

package program

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/tcpip"
	"weir/tcpip/tcp"
)

// number returns the bytes of an option that is an int.
func number(v int) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(int32(v))) }

func flag(yes bool) []byte {
	if yes {
		return number(1)
	}
	return number(0)
}

// special returns options of all sockets that are not among the defaults.
func (k *core) special(of option) (v []byte, ok bool) {
	if of == (option{unix.IPPROTO_IP, unix.IP_OPTIONS}) {
		return nil, true // none
	}
	if of.level != unix.SOL_SOCKET {
		return nil, false
	}
	switch of.name {
	case unix.SO_BINDTODEVICE:
		return nil, true // none
	case unix.SO_ERROR:
		return number(int(k.takeError())), true
	case unix.SO_DOMAIN:
		if k.inet6 {
			return number(unix.AF_INET6), true
		}
		return number(unix.AF_INET), true
	case unix.SO_COOKIE:
		return binary.NativeEndian.AppendUint64(nil, k.inode), true
	case unix.SO_PEERCRED: // as of a socket that has none
		return append(number(0), append(number(-1), number(-1)...)...), true
	case unix.SO_LINGER:
		k.opts.mu.Lock()
		defer k.opts.mu.Unlock()
		return append(number(int(k.opts.linger.Onoff)), number(int(k.opts.linger.Linger))...), true
	}
	return nil, false
}

// special implements socket.
func (t *stream) special(of option) (v []byte, ok bool) {
	switch of {
	case option{unix.SOL_SOCKET, unix.SO_TYPE}:
		return number(unix.SOCK_STREAM), true
	case option{unix.SOL_SOCKET, unix.SO_PROTOCOL}:
		return number(unix.IPPROTO_TCP), true
	case option{unix.SOL_SOCKET, unix.SO_ACCEPTCONN}:
		t.mu.Lock()
		defer t.mu.Unlock()
		return flag(t.state == streamListening), true
	case option{unix.IPPROTO_TCP, unix.TCP_CONGESTION}:
		t.opts.mu.Lock()
		defer t.opts.mu.Unlock()
		name := t.opts.control
		if name == "" {
			name = "cubic"
		}
		return append([]byte(name), make([]byte, 16-len(name))...), true
	case option{unix.IPPROTO_TCP, unix.TCP_INFO}:
		return t.info(), true
	}
	return t.core.special(of)
}

// special implements socket.
func (d *datagram) special(of option) (v []byte, ok bool) {
	switch of {
	case option{unix.SOL_SOCKET, unix.SO_TYPE}:
		return number(unix.SOCK_DGRAM), true
	case option{unix.SOL_SOCKET, unix.SO_PROTOCOL}:
		return number(unix.IPPROTO_UDP), true
	case option{unix.SOL_SOCKET, unix.SO_ACCEPTCONN}:
		return flag(false), true
	}
	return d.core.special(of)
}

// linuxStates are the numbers of states in struct tcp_info.
var linuxStates = map[tcp.State]uint8{
	tcp.Established: 1, tcp.SynSent: 2, tcp.SynReceived: 3, tcp.FinWait1: 4, tcp.FinWait2: 5, tcp.TimeWait: 6,
	tcp.Closed: 7, tcp.CloseWait: 8, tcp.LastAck: 9, tcp.Closing: 11,
}

// Numbers of states that a connection of the stack does not tell.
const (
	linuxSynSent = 2
	linuxClosed  = 7
	linuxListen  = 10
)

// info returns struct tcp_info, with what the stack knows of it.
func (t *stream) info() []byte {
	t.mu.Lock()
	state, conn := t.state, t.conn
	t.mu.Unlock()
	var i unix.TCPInfo
	switch {
	case state == streamListening:
		i.State = linuxListen
	case state == streamConnecting:
		i.State = linuxSynSent
	case conn == nil:
		i.State = linuxClosed
	default:
		i = linuxInfo(conn.Info())
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&i)), unsafe.Sizeof(i))
}

func linuxInfo(c tcpip.ConnInfo) unix.TCPInfo {
	mss := max(c.MSS, 1)
	return unix.TCPInfo{
		State: linuxStates[c.State], Backoff: uint8(c.Backoff), Pmtu: uint32(c.PathMTU),
		Rto: uint32(c.RTO.Microseconds()), Rtt: uint32(c.RTT.Microseconds()), Rttvar: uint32(c.RTTVar.Microseconds()), Min_rtt: uint32(c.MinRTT.Microseconds()),
		Snd_mss: uint32(c.MSS), Rcv_mss: uint32(c.MSS), Advmss: uint32(c.MSS),
		Unacked: uint32((c.InFlight + mss - 1) / mss), Sacked: uint32(c.Sacked / mss), Lost: uint32(c.Lost / mss),
		Snd_cwnd: uint32(c.CongestionWindow / mss), Snd_ssthresh: uint32(c.SlowStartThreshold / mss),
		Rcv_space: uint32(c.ReceiveWindow), Rcv_wnd: uint32(c.ReceiveWindow), Snd_wnd: uint32(c.SendWindow),
		Total_retrans: uint32(c.Retransmitted), Notsent_bytes: uint32(c.Unsent), Pacing_rate: uint64(c.PacingRate),
		Bytes_acked: c.Acked, Bytes_received: c.Received,
		Last_data_sent: uint32(c.SinceSent.Milliseconds()), Last_data_recv: uint32(c.SinceReceived.Milliseconds()), Last_ack_recv: uint32(c.SinceSegment.Milliseconds()),
	}
}
