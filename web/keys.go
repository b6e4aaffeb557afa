package web

// Key names what components leave for one another with [Conn.SetValue]; the value is a string. A package that
// leaves something else uses a key type of its own.
type Key string

// The keys that several components know.
const (
	User      Key = "user"       // who the client is: set by who has authenticated it, for logs, programs and upstreams
	RequestID Key = "request id" // the name of the exchange in logs, here and upstream
	Upstream  Key = "upstream"   // the address that a proxy has taken the response from
	Route     Key = "route"      // the name of the route that the exchange takes
	Personal  Key = "personal"   // what a component has decided on that a cache around it does not know: the answer is not for others
)

// Text is what was left under a key, "" when nothing was.
func (c *Conn) Text(key Key) string {
	s, _ := c.Value(key).(string)
	return s
}
