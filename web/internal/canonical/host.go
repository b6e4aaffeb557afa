package canonical

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// Reasons why a host has no canonical form. The client sees these texts.
var (
	errHost = errors.New("the host is neither a name nor an address")
	errZone = errors.New("the host is an address with a zone")
	errPort = errors.New("the host has an invalid port")
)

// isNameByte reports whether a byte may stand in a label of a canonical name.
func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// IsHost reports whether a host, with or without a port, is in canonical form already. An empty
// host is. defaultPort is the port of the scheme, 0 if it has none. IsHost does not allocate.
func IsHost(host string, defaultPort int) bool {
	dot := true // the previous byte was a dot, or there was none
	for i := range len(host) {
		switch c := host[i]; {
		case isNameByte(c):
			dot = false
		case c == '.' && !dot:
			dot = true
		case c == ':' && !dot:
			return isPort(host[i+1:], defaultPort)
		default:
			return false
		}
	}
	return !dot || host == ""
}

// isPort reports whether a port is canonical.
func isPort(port string, defaultPort int) bool {
	n := 0
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' || i == 5 {
			return false
		}
		n = n*10 + int(port[i]-'0')
	}
	return port != "" && port[0] != '0' && n <= 65535 && n != defaultPort
}

// ParseHost returns the canonical form of a host with or without a port. It omits the port if that
// is defaultPort, the port of the scheme; 0: none.
func ParseHost(host string, defaultPort int) (string, error) {
	if IsHost(host, defaultPort) {
		return host, nil
	}
	name, port := splitPort(host)
	name, err := parseName(name)
	if err != nil || port == "" {
		return name, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil:
		return "", errPort
	case int(n) == defaultPort && n > 0:
		return name, nil
	}
	return name + ":" + strconv.FormatUint(n, 10), nil
}

// splitPort cuts the port off a host.
func splitPort(host string) (name, port string) {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i], host[i+1:]
	}
	return host, ""
}

// Name returns the name or address of a canonical host, without its port.
func Name(host string) string {
	name, _ := splitPort(host)
	return name
}

// parseName returns the canonical form of a host without a port.
func parseName(name string) (string, error) {
	if inside, ok := strings.CutPrefix(name, "["); ok {
		inside, ok = strings.CutSuffix(inside, "]")
		a, err := netip.ParseAddr(inside)
		switch {
		case !ok || err != nil || !a.Is6():
			return "", errHost
		case a.Zone() != "":
			return "", errZone
		}
		return "[" + a.String() + "]", nil
	}
	lower := []byte(strings.TrimSuffix(name, "."))
	for i, c := range lower {
		// ASCII only: some other letters have a lower case in ASCII
		if 'A' <= c && c <= 'Z' {
			lower[i] = c | 0x20
		}
	}
	if name = string(lower); !IsHost(name, 0) || name == "" || strings.Contains(name, ":") {
		return "", errHost
	}
	return name, nil
}
