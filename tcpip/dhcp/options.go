package dhcp

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
)

// The fields of a DHCPv4 message that may have options too (RFC 2131, section 2), as offsets.
const (
	snameAt   = 44
	fileAt    = 108
	fileEndAt = 236
)

// parseMessage parses a message of DHCPv4, with the options of its file and sname fields if option
// 52 says that they have any (RFC 2132, section 9.3). An option that is split has the value of all
// its parts (RFC 3396).
func parseMessage(b []byte) (*dhcpv4.DHCPv4, error) {
	d, err := dhcpv4.FromBytes(b)
	if err != nil {
		return nil, err
	}
	overload := d.Options.Get(dhcpv4.OptionOptionOverload)
	if len(overload) != 1 || overload[0] > 3 {
		return d, nil
	}
	if overload[0]&1 != 0 {
		err = d.Options.FromBytes(b[fileAt:fileEndAt])
	}
	if overload[0]&2 != 0 {
		err = errors.Join(err, d.Options.FromBytes(b[snameAt:fileAt]))
	}
	return d, err
}

// usedOptions6 are the options that the stateless client reads, beside the search list.
var usedOptions6 = []dhcpv6.OptionCode{dhcpv6.OptionClientID, dhcpv6.OptionServerID, dhcpv6.OptionDNSRecursiveNameServer, dhcpv6.OptionInformationRefreshTime}

// header6 is the length of a message of DHCPv6 before its options, in bytes (RFC 8415, section 8).
const header6 = 4

var errOptionCut = errors.New("dhcp: an option is longer than its message")

// splitMessage6 returns a message of DHCPv6 with the used options only, and the value of its search
// list. So the work that a message takes does not depend on options that are not used.
func splitMessage6(b []byte) (used, search []byte, err error) {
	used = slices.Clone(b[:header6])
	for b = b[header6:]; len(b) > 0; {
		if len(b) < 4 || len(b)-4 < int(binary.BigEndian.Uint16(b[2:])) {
			return nil, nil, errOptionCut
		}
		code, end := dhcpv6.OptionCode(binary.BigEndian.Uint16(b)), 4+int(binary.BigEndian.Uint16(b[2:]))
		switch {
		case code == dhcpv6.OptionDomainSearchList:
			search = b[4:end]
		case slices.Contains(usedOptions6, code):
			used = append(used, b[:end]...)
		}
		b = b[end:]
	}
	return used, search, nil
}

// searchList returns the valid names of a search list (RFC 3397, RFC 8415, section 10), up to the
// first name that is malformed. Names and their number are limited, and with them the work:
// pointers can refer to the same labels again and again.
func searchList(b []byte) (names []string) {
	for at := 0; at < len(b) && len(names) < maxDomains; {
		name, next := nameAt(b, at)
		if next == 0 {
			break
		}
		if validDomain(name) {
			names = append(names, name)
		}
		at = next
	}
	return names
}

// nameAt returns the name at an offset, and the offset after it; 0: the name is malformed (RFC
// 1035, sections 3.1 and 4.1.4). A pointer must refer to an earlier offset.
func nameAt(b []byte, at int) (name string, next int) {
	var labels []string
	for length := 1; at < len(b); {
		size := int(b[at])
		switch {
		case size == 0:
			return strings.Join(labels, "."), cmp.Or(next, at+1)
		case size >= 0xc0 && at+1 < len(b):
			to := size&0x3f<<8 | int(b[at+1])
			if next = cmp.Or(next, at+2); to >= at {
				return "", 0
			}
			at = to
			continue
		}
		if length += 1 + size; size > 63 || length > 255 || at+1+size > len(b) {
			return "", 0
		}
		labels = append(labels, string(b[at+1:at+1+size]))
		at += 1 + size
	}
	return "", 0
}
