package wire

// Fault is what is wrong with a packet. The zero value is none.
type Fault uint8

// The faults.
const (
	OK            Fault = iota
	Short               // fewer bytes than the header has, or claims to have
	WrongVersion        // not IPv4
	WrongLength         // a length in the header that cannot be
	WrongHardware       // ARP of something else than IPv4 over Ethernet
	// an option that ends behind its header, or has a length that it cannot have
	WrongOption
	WrongChecksum // ChecksumOK says no: never a parser's fault
	faults
)

// Faults is how many there are, OK included: for arrays that are indexed by a Fault.
const Faults = int(faults)

var faultTexts = [Faults]string{"nothing is wrong", "too short", "not IPv4", "an impossible length", "not IPv4 over Ethernet", "a broken option", "a wrong checksum"}

// String says what is wrong in a few words.
func (f Fault) String() string { return faultTexts[f] }

// Error implements error. OK is no error: compare with it before.
func (f Fault) Error() string { return "wire: " + f.String() }
