package irc

// Registration is how far a connection is on its way to be a user. The zero value is its begin.
type Registration struct {
	Nick, User, Real, Pass string
	Negotiating            bool // CAP LS or REQ came, and no CAP END yet
}

// Ready says that all is there that a user needs.
func (r *Registration) Ready() bool { return r.Nick != "" && r.User != "" && !r.Negotiating }
