package tcp

// Limits of the sizes that SetSendBuffer and SetReceiveBuffer take, in bytes.
const (
	minBuffer = 4 << 10
	maxBuffer = 1 << 30
)

// SetSendBuffer sets the size of the send buffer, in place of Config.SendBuffer: it no longer tunes
// itself. The data in it stay.
func (c *Conn) SetSendBuffer(bytes int) {
	size := max(minBuffer, min(bytes, maxBuffer))
	c.change(func(own *Config) { own.SendBuffer = BufferRange{size, size} })
	c.events |= Writable
}

// SetReceiveBuffer sets the size of the receive buffer, in place of Config.ReceiveBuffer: it no
// longer tunes itself. The window grows to at most 65,535 bytes times the scale of the SYN, and a
// smaller size takes back nothing that was offered (RFC 9293, section 3.8.6).
func (c *Conn) SetReceiveBuffer(bytes int) {
	size := max(minBuffer, min(bytes, maxBuffer, 65535<<c.rcvScale))
	c.change(func(own *Config) { own.ReceiveBuffer = BufferRange{size, size} })
	c.recvLimit = size
}
