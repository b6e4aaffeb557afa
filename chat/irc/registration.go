package irc

// Registration is the state of a connection before it is registered. The zero value is the start.
type Registration struct {
	Nick, User, Real, Pass string
	Negotiating            bool // CAP LS or REQ was received, and no CAP END yet
}

// Ready reports whether the connection can be registered.
func (r *Registration) Ready() bool { return r.Nick != "" && r.User != "" && !r.Negotiating }
