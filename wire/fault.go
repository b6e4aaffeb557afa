package wire

// Fault is what is wrong with a packet; the zero value, OK, is none.
type Fault uint8

// The faults of packets.
const (
	OK            Fault = iota
	Short               // fewer bytes than the header needs or claims
	WrongVersion        // of another version of IP
	WrongLength         // an impossible length in the header
	WrongHardware       // ARP that is not for IPv4 over Ethernet
	// WrongOption is an option that ends beyond the header or has an impossible length.
	WrongOption
	WrongField    // a value that the field cannot have
	WrongChecksum // ChecksumOK returned false; Parse functions never return it
	faultCount
)

// FaultCount is the number of faults including OK, for arrays indexed by a Fault.
const FaultCount = int(faultCount)

var faultTexts = [FaultCount]string{"nothing is wrong", "too short", "of another version of IP", "an impossible length", "not IPv4 over Ethernet", "a broken option", "an impossible value", "a wrong checksum"}

// String describes the fault in a few words.
func (f Fault) String() string { return faultTexts[f] }

// Error implements error. OK is not an error: check for it first.
func (f Fault) Error() string { return "wire: " + f.String() }
