package web

// Key is a key of [Conn.SetValue] for a value of type string. A package that stores values of other
// types uses a key type of its own.
type Key string

// Keys that several components use.
const (
	// The client's name, set by the component that has authenticated it. Used by logs, programs and
	// upstreams.
	User      Key = "user"
	RequestID Key = "request id" // the identifier of the exchange in logs, here and upstream
	Upstream  Key = "upstream"   // the address of the upstream that a proxy got the response from
	Route     Key = "route"      // the name of the route that the exchange takes
	// The field of the request that the response depends on in a way that a cache around the
	// component cannot see. The response is for this client only.
	Personal Key = "personal"
)

// StringValue returns the string stored under a key, or "".
func (c *Conn) StringValue(key Key) string {
	s, _ := c.Value(key).(string)
	return s
}
