package web

// Key names what components leave for one another with [Conn.SetValue]; the value is a string. A
// package that leaves something else uses a key type of its own.
type Key string

// The keys that several components know.
const (
	// who the client is: set by who has authenticated it, for logs, programs and upstreams
	User      Key = "user"
	RequestID Key = "request id" // the name of the exchange in logs, here and upstream
	Upstream  Key = "upstream"   // the address that a proxy has taken the response from
	Route     Key = "route"      // the name of the route that the exchange takes
	// what a component has decided on that a cache around it does not know: the answer is not for
	// others
	Personal Key = "personal"
)

// Text is what was left under a key, "" when nothing was.
func (c *Conn) Text(key Key) string {
	s, _ := c.Value(key).(string)
	return s
}
