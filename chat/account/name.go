package account

import (
	"errors"
	"fmt"
	"strings"

	"weir/chat/irc"
)

// Length limits, in bytes unless stated otherwise.
const (
	MaxName     = irc.MaxNick // account name
	MaxDevice   = 32          // device name
	MinPassword = 8           // new password, in characters
	MaxPassword = 256         // password; an IRC line has room for about 400 at most
)

var (
	// ErrName is wrapped by the errors of an invalid account name.
	ErrName = errors.New("account: invalid account name")
	// ErrDevice is wrapped by the errors of an invalid device name.
	ErrDevice = errors.New("account: invalid device name")
)

// CheckName returns an error if name is not a valid account name. A valid name is a nickname (RFC
// 2812, section 2.3.1) of at most MaxName bytes. So it contains no comma, slash, dot, space, @ or
// wildcard. Names are compared by irc.Fold.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: it is empty", ErrName)
	}
	if len(name) > MaxName {
		return fmt.Errorf("%w: it has %d bytes, want at most %d", ErrName, len(name), MaxName)
	}
	if !irc.ValidNick(name) {
		return fmt.Errorf("%w: %q: use letters, digits (not first) and - (not first) [ ] \\ ` _ ^ { | }", ErrName, name)
	}
	return nil
}

// CheckDevice returns an error if name is not a valid device name. "" is the device without a name.
func CheckDevice(name string) error {
	if name == "" {
		return nil
	}
	if len(name) > MaxDevice {
		return fmt.Errorf("%w: it has %d bytes, want at most %d", ErrDevice, len(name), MaxDevice)
	}
	for i := 0; i < len(name); i++ {
		c := name[i] | 0x20
		if (c < 'a' || c > 'z') && (name[i] < '0' || name[i] > '9') && (i == 0 || strings.IndexByte("-_.", name[i]) < 0) {
			return fmt.Errorf("%w: %q: use letters, digits, and after the first also . - _", ErrDevice, name)
		}
	}
	return nil
}

// Split splits an authcid, NAME or NAME@DEVICE, folds the device name and checks both.
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

// fileName returns the name of an account's file in a folder of the data directory: the folded name
// with every byte outside a-z 0-9 _ - as %XX.
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
