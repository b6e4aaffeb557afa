package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of the arguments of a part.
const (
	maxArgs      = 256
	maxArgsBytes = 64 << 10
)

// LoadKinds are the commands of weir load, which start the arguments of a part.
var LoadKinds = []string{"stream", "http", "grpc", "ws", "chat", "stack"}

// FileFlags are the flags of weir load that name a file. An agent refuses them, so that a load
// neither sends files of its machine nor writes any. The body of a request cannot be a file either.
var FileFlags = []string{"mix", "expect", "ca", "acks"}

// checkArgs returns an error that says why args are not the arguments of a load that an agent
// offers.
func checkArgs(args []string) error {
	if len(args) == 0 || !slices.Contains(LoadKinds, args[0]) {
		return fmt.Errorf("an agent only offers loads: the first argument must be one of %s", strings.Join(LoadKinds, ", "))
	}
	size := 0
	for _, arg := range args {
		size += len(arg)
		if strings.ContainsRune(arg, 0) {
			return errors.New("an argument of a load has a null byte")
		}
		flag, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(FileFlags, flag) {
			return fmt.Errorf("an agent refuses --%s, which names a file of its machine", flag)
		}
		if strings.HasPrefix(arg, "@") || strings.Contains(arg, "=@") {
			return errors.New("an agent refuses an argument that starts with @, which names a file of its machine")
		}
	}
	if len(args) > maxArgs || size > maxArgsBytes {
		return fmt.Errorf("a load has %d arguments with %d bytes, the limits are %d and %d", len(args), size, maxArgs, maxArgsBytes)
	}
	return nil
}

// steered returns args with the flags by which a load can be steered and merged.
func steered(args []string) []string {
	flags := []string{args[0]}
	for _, flag := range []string{"--steer", "--histograms"} {
		if !slices.Contains(args, flag) {
			flags = append(flags, flag)
		}
	}
	return append(flags, args[1:]...)
}
