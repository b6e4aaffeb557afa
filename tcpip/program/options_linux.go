//go:build amd64 || arm64

package program

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip"
	"weir/tcpip/tcp"
)

// option is an option of a socket.
type option struct{ level, name int }

// options are those that a program has set.
type options struct {
	mu      sync.Mutex // guards what follows. No other lock is taken under it
	values  map[option]int32
	linger  unix.Linger
	waits   [2]time.Duration // SO_RCVTIMEO and SO_SNDTIMEO; 0: without limit
	control string           // of congestion; "": the default
}

// defaults has the options whose value is an int, as Linux has them at first. Those that need an
// effect have one in apply or configure; others have none in the stack.
var defaults = map[option]int32{
	{unix.SOL_SOCKET, unix.SO_REUSEADDR}: 0, {unix.SOL_SOCKET, unix.SO_REUSEPORT}: 0, {unix.SOL_SOCKET, unix.SO_KEEPALIVE}: 0,
	{unix.SOL_SOCKET, unix.SO_BROADCAST}: 0, {unix.SOL_SOCKET, unix.SO_OOBINLINE}: 0, {unix.SOL_SOCKET, unix.SO_DONTROUTE}: 0,
	{unix.SOL_SOCKET, unix.SO_PRIORITY}: 0, {unix.SOL_SOCKET, unix.SO_SNDBUF}: 212992, {unix.SOL_SOCKET, unix.SO_RCVBUF}: 212992,
	{unix.SOL_SOCKET, unix.SO_BUSY_POLL}: 0, {unix.SOL_SOCKET, unix.SO_NO_CHECK}: 0, {unix.SOL_SOCKET, unix.SO_INCOMING_CPU}: -1,
	{unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID}: 0,

	{unix.IPPROTO_TCP, unix.TCP_NODELAY}: 0, {unix.IPPROTO_TCP, unix.TCP_CORK}: 0, {unix.IPPROTO_TCP, unix.TCP_MAXSEG}: 536,
	{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}: 7200, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}: 75, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT}: 9,
	{unix.IPPROTO_TCP, unix.TCP_SYNCNT}: 6, {unix.IPPROTO_TCP, unix.TCP_LINGER2}: 60, {unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT}: 0,
	{unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP}: 0, {unix.IPPROTO_TCP, unix.TCP_QUICKACK}: 1, {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT}: 0,
	{unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT}: 0, {unix.IPPROTO_TCP, unix.TCP_FASTOPEN}: 0, {unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT}: 0,

	{unix.IPPROTO_IP, unix.IP_TOS}: 0, {unix.IPPROTO_IP, unix.IP_TTL}: 64, {unix.IPPROTO_IP, unix.IP_MTU_DISCOVER}: 1,
	{unix.IPPROTO_IP, unix.IP_RECVERR}: 0, {unix.IPPROTO_IP, unix.IP_FREEBIND}: 0, {unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT}: 0,
	{unix.IPPROTO_IP, unix.IP_MULTICAST_TTL}: 1, {unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP}: 1, {unix.IPPROTO_IP, unix.IP_MULTICAST_ALL}: 1,
	{unix.IPPROTO_IP, unix.IP_PKTINFO}: 0, {unix.IPPROTO_IP, unix.IP_RECVTOS}: 0, {unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO}: 0, {unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS}: 0,

	{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}: 0, {unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS}: 64, {unix.IPPROTO_IPV6, unix.IPV6_TCLASS}: 0,
	{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER}: 1, {unix.IPPROTO_IPV6, unix.IPV6_RECVERR}: 0, {unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG}: 0,
	{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS}: 1, {unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_LOOP}: 1, {unix.IPPROTO_IPV6, unix.IPV6_AUTOFLOWLABEL}: 1,
	{unix.IPPROTO_IPV6, unix.IPV6_ADDR_PREFERENCES}: 0,
}

// get returns the value of an option that is an int, and whether there is such an option.
func (o *options) get(of option) (int32, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v, ok := o.values[of]
	if !ok {
		v, ok = defaults[of]
	}
	return v, ok
}

func (o *options) isSet(level, name int) bool {
	v, _ := o.get(option{level, name})
	return v != 0
}

func (o *options) set(of option, v int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.values == nil {
		o.values = map[option]int32{}
	}
	o.values[of] = v
}

// copyFrom has an accepted socket inherit the options of its listener.
func (o *options) copyFrom(from *options) {
	from.mu.Lock()
	defer from.mu.Unlock()
	o.values, o.linger, o.control = maps.Clone(from.values), from.linger, from.control
}

// timeout returns SO_RCVTIMEO or SO_SNDTIMEO.
func (o *options) timeout(name int) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if name == unix.SO_RCVTIMEO {
		return o.waits[0]
	}
	return o.waits[1]
}

// resetsAtClose reports whether close resets the connection (SO_LINGER with a time of 0).
func (o *options) resetsAtClose() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.linger.Onoff != 0 && o.linger.Linger == 0
}

// configure sets what must be known before the handshake.
func (o *options) configure(c *tcp.Config) {
	c.KeepAliveIdle = 0 // SO_KEEPALIVE is off at first
	if v, _ := o.get(option{unix.IPPROTO_TCP, unix.TCP_MAXSEG}); v != defaults[option{unix.IPPROTO_TCP, unix.TCP_MAXSEG}] {
		c.MSS = int(v)
	}
	if v, _ := o.get(option{unix.IPPROTO_TCP, unix.TCP_SYNCNT}); v > 0 {
		c.SYNRetries = int(v)
	}
}

// applyAll sets all options of a new connection.
func (o *options) applyAll(conn *tcpip.Conn) {
	conn.SetNoDelay(o.isSet(unix.IPPROTO_TCP, unix.TCP_NODELAY)) //nolint:errcheck // closed: it has ended
	o.mu.Lock()
	all := maps.Clone(o.values)
	o.mu.Unlock()
	for of := range all {
		o.apply(conn, of)
	}
}

// apply has an option take effect on a connection. Its errors are those of a closed one.
func (o *options) apply(conn *tcpip.Conn, of option) {
	v, _ := o.get(of)
	switch of {
	case option{unix.SOL_SOCKET, unix.SO_KEEPALIVE}, option{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
		option{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, option{unix.IPPROTO_TCP, unix.TCP_KEEPCNT}:
		conn.SetKeepAliveConfig(o.keepAlive()) //nolint:errcheck // see above
	case option{unix.IPPROTO_TCP, unix.TCP_NODELAY}:
		conn.SetNoDelay(v != 0) //nolint:errcheck // see above
	case option{unix.IPPROTO_TCP, unix.TCP_CORK}:
		conn.SetCork(v != 0) //nolint:errcheck // see above
	case option{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT}:
		if v > 0 {
			conn.SetUserTimeout(time.Duration(v) * time.Millisecond) //nolint:errcheck // see above
		}
	case option{unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT}:
		conn.SetNotSentLowat(int(v)) //nolint:errcheck // see above
	case option{unix.IPPROTO_IP, unix.IP_TOS}, option{unix.IPPROTO_IPV6, unix.IPV6_TCLASS}:
		conn.SetTOS(uint8(v)) //nolint:errcheck // see above
	case option{unix.SOL_SOCKET, unix.SO_SNDBUF}:
		conn.SetWriteBuffer(int(v)) //nolint:errcheck // see above
	case option{unix.SOL_SOCKET, unix.SO_RCVBUF}:
		conn.SetReadBuffer(int(v)) //nolint:errcheck // see above
	}
}

func (o *options) keepAlive() net.KeepAliveConfig {
	seconds := func(name int) time.Duration {
		v, _ := o.get(option{unix.IPPROTO_TCP, name})
		return time.Duration(v) * time.Second
	}
	count, _ := o.get(option{unix.IPPROTO_TCP, unix.TCP_KEEPCNT})
	return net.KeepAliveConfig{Enable: o.isSet(unix.SOL_SOCKET, unix.SO_KEEPALIVE), Idle: seconds(unix.TCP_KEEPIDLE), Interval: seconds(unix.TCP_KEEPINTVL), Count: int(count)}
}

// apply implements socket.
func (t *stream) apply(o option) {
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	if conn != nil {
		t.opts.apply(conn, o)
	}
}

// setsockopt implements setsockopt(2).
func (c *call) setsockopt(k socket) answer {
	of, at, size := option{c.arg(1), c.arg(2)}, c.args[3], c.arg(4)
	if size < 0 {
		return failed(unix.EINVAL)
	}
	if set, ok := specialSetters[of]; ok {
		return set(c, k, at, size)
	}
	if _, ok := defaults[of]; !ok {
		return c.unknownOption("setsockopt", of)
	}
	v, errno := c.readOption(of, at, size)
	if errno != 0 {
		return failed(errno)
	}
	if of.level == unix.SOL_SOCKET && (of.name == unix.SO_SNDBUF || of.name == unix.SO_RCVBUF) {
		v = max(2*min(max(v, 0), 1<<23), 4608) // as Linux: twice, for its overhead
	}
	k.options().set(of, v)
	k.apply(of)
	return value(0)
}

// readOption reads the value of an option that is an int. Those of IP may be bytes.
func (c *call) readOption(of option, at uint64, size int) (v int32, errno unix.Errno) {
	switch {
	case size >= 4:
		return c.readInt(at)
	case size >= 1 && of.level != unix.SOL_SOCKET:
		var b [1]byte
		errno = c.read(at, b[:])
		return int32(b[0]), errno
	}
	return 0, unix.EINVAL
}

// unknownOption refuses an option.
func (c *call) unknownOption(what string, of option) answer {
	return c.refuse(unix.ENOPROTOOPT, fmt.Sprintf("%s of level %d, option %d: the stack does not have it", what, of.level, of.name))
}

// specialSetters are those of options that are no ints, or have other rules.
var specialSetters = map[option]func(c *call, k socket, at uint64, size int) answer{
	{unix.SOL_SOCKET, unix.SO_LINGER}:       (*call).setLinger,
	{unix.SOL_SOCKET, unix.SO_RCVTIMEO}:     (*call).setTimeout,
	{unix.SOL_SOCKET, unix.SO_SNDTIMEO}:     (*call).setTimeout,
	{unix.SOL_SOCKET, unix.SO_RCVLOWAT}:     func(*call, socket, uint64, int) answer { return passOn },
	{unix.SOL_SOCKET, unix.SO_BINDTODEVICE}: func(*call, socket, uint64, int) answer { return failed(unix.EPERM) },
	{unix.SOL_SOCKET, unix.SO_MARK}:         func(*call, socket, uint64, int) answer { return failed(unix.EPERM) },
	{unix.IPPROTO_TCP, unix.TCP_CONGESTION}: (*call).setCongestion,
}

func (c *call) setLinger(k socket, at uint64, size int) answer {
	if size < 8 {
		return failed(unix.EINVAL)
	}
	v, errno := readStruct[unix.Linger](c, at)
	if errno != 0 {
		return failed(errno)
	}
	o := k.options()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.linger = v
	return value(0)
}

// setTimeout remembers a timeout for calls that the supervisor answers. The kernel has it too.
func (c *call) setTimeout(k socket, at uint64, size int) answer {
	if size < 16 {
		return failed(unix.EINVAL)
	}
	v, errno := readStruct[unix.Timeval](c, at)
	if errno != 0 {
		return failed(errno)
	}
	o, i := k.options(), 0
	if c.arg(2) == unix.SO_SNDTIMEO {
		i = 1
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits[i] = time.Duration(v.Sec)*time.Second + time.Duration(v.Usec)*time.Microsecond
	return passOn
}

// congestionControls are the names that programs may choose.
var congestionControls = map[string]bool{"cubic": true, "reno": true}

func (c *call) setCongestion(k socket, at uint64, size int) answer {
	name := make([]byte, min(size, 16))
	if errno := c.read(at, name); errno != 0 {
		return failed(errno)
	}
	text := unix.ByteSliceToString(name)
	if !congestionControls[text] {
		return failed(unix.ENOENT)
	}
	o := k.options()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.control = text
	return value(0)
}

// getsockopt implements getsockopt(2).
func (c *call) getsockopt(k socket) answer {
	of := option{c.arg(1), c.arg(2)}
	if of.level == unix.SOL_SOCKET && (of.name == unix.SO_RCVTIMEO || of.name == unix.SO_SNDTIMEO || of.name == unix.SO_RCVLOWAT) {
		return passOn
	}
	v, ok := k.special(of)
	if !ok {
		i, known := k.options().get(of)
		if !known {
			return c.unknownOption("getsockopt", of)
		}
		v = binary.NativeEndian.AppendUint32(nil, uint32(i))
	}
	room, errno := c.readInt(c.args[4])
	if errno != 0 {
		return failed(errno)
	}
	if room < 0 {
		return failed(unix.EINVAL)
	}
	v = v[:min(len(v), int(room))]
	if errno := c.write(c.args[3], v); errno != 0 {
		return failed(errno)
	}
	return result(c.write(c.args[4], binary.NativeEndian.AppendUint32(nil, uint32(len(v)))))
}
