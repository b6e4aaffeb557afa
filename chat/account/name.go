package account

import (
	"errors"
	"fmt"
	"strings"

	"weir/chat/irc"
)

// Limits in bytes.
const (
	MaxName     = irc.MaxNick // of an account's name
	MaxDevice   = 32          // of a device's name
	MinPassword = 8           // of a new password, in characters
	MaxPassword = 256         // of a password; an IRC line has room for no more than about 400
)

var (
	// ErrName means that an account can't have this name; the error around it says why.
	ErrName = errors.New("account: not a name for an account")
	// ErrDevice means that a device can't have this name.
	ErrDevice = errors.New("account: not a name for a device")
)

// CheckName says why an account can't be called name. An account's name is a nickname (RFC 2812,
// section 2.3.1) of at most MaxName bytes, so no name holds a comma, a slash, a dot, a space, an @
// or a wildcard. It is found by its folded form, irc.Fold.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: it is empty", ErrName)
	}
	if len(name) > MaxName {
		return fmt.Errorf("%w: it has %d bytes, at most %d", ErrName, len(name), MaxName)
	}
	if !irc.ValidNick(name) {
		return fmt.Errorf("%w: %q: use letters, digits (not first) and - (not first) [ ] \\ ` _ ^ { | }", ErrName, name)
	}
	return nil
}

// CheckDevice says why a device can't be called name. "" is the device that was not named.
func CheckDevice(name string) error {
	if name == "" {
		return nil
	}
	if len(name) > MaxDevice {
		return fmt.Errorf("%w: it has %d bytes, at most %d", ErrDevice, len(name), MaxDevice)
	}
	for i := 0; i < len(name); i++ {
		c := name[i] | 0x20
		if (c < 'a' || c > 'z') && (name[i] < '0' || name[i] > '9') && (i == 0 || strings.IndexByte("-_.", name[i]) < 0) {
			return fmt.Errorf("%w: %q: use letters, digits, and after the first also . - _", ErrDevice, name)
		}
	}
	return nil
}

// Split parts what a client calls itself, NAME or NAME@DEVICE, and folds the device. It checks both
// parts.
func Split(authcid string) (name, device string, err error) {
	name, device, named := strings.Cut(authcid, "@")
	if err := CheckName(name); err != nil {
		return "", "", err
	}
	if named && device == "" {
		return "", "", fmt.Errorf("%w: it is empty: leave out the @", ErrDevice)
	}
	return name, irc.Fold(device), CheckDevice(device)
}

// fileName is what the file of the account is called in a folder of the data directory: the folded
// name with every byte outside a-z 0-9 _ - as %XX.
func fileName(name string) string {
	var b strings.Builder
	for _, c := range []byte(irc.Fold(name)) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
