package dhcp

// State is the state of a Client (RFC 2131, section 4.4, figure 5).
type State uint8

// The states.
const (
	// Init waits for the time to send a DHCPDISCOVER (section 4.4.1). It is also where the client
	// waits after a refusal or a conflict (section 3.1, 5).
	Init       State = iota
	Selecting        // a DHCPDISCOVER was sent: waits for offers (section 4.4.1)
	Requesting       // an offer was accepted: waits for its DHCPACK (section 4.4.1)
	Rebooting        // asks for the address of an earlier lease again (section 4.4.2)
	Probing          // has a DHCPACK: probes for another host with the address (RFC 5227)
	Bound            // uses the address (section 4.4.5)
	Renewing         // T1 is over: asks the server of the lease, by unicast (section 4.4.5)
	Rebinding        // T2 is over: asks all servers, by broadcast (section 4.4.5)
	Stopped          // Run has ended
)

var stateNames = [...]string{"INIT", "SELECTING", "REQUESTING", "REBOOTING", "PROBING", "BOUND", "RENEWING", "REBINDING", "STOPPED"}

// String returns the name of RFC 2131.
func (s State) String() string { return stateNames[s] }

// hasLease reports whether the client uses an address in that state.
func (s State) hasLease() bool { return s == Bound || s == Renewing || s == Rebinding }

// Reason is why a lease was lost.
type Reason uint8

// The reasons.
const (
	Expired  Reason = iota + 1 // no server renewed it in time
	Refused                    // a server has sent a DHCPNAK
	Conflict                   // another host uses the address
	Released                   // Run has ended
)

var reasonNames = [...]string{"", "no server renewed it in time", "a server refused to renew it", "another host uses the address", "the client has stopped"}

// String returns the reason as a phrase.
func (r Reason) String() string { return reasonNames[r] }

// Stats counts what a Client has received and could not use.
type Stats struct {
	State     State
	Sent      uint64 // messages sent
	Malformed uint64 // messages that cannot be parsed
	// messages for other clients, of other exchanges, or of servers that were not asked
	Ignored   uint64
	BadLeases uint64 // offers and acknowledgments with a lease that no host can use
	Dropped   uint64 // messages that found the queue full
}
