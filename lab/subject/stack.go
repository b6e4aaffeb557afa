package subject

import (
	"fmt"
	"slices"
	"strings"
)

// stack is the workload of TCP/IP stacks, which are not servers. The lab creates a network for each
// run and connects to the services on the stack.
const stack = "stack"

// networks are the values of Network.
var networks = []string{"tap", "tap6", "veth", "veth6"}

// HasIPv6 reports whether the subject is a TCP/IP stack that is measured over IPv6.
func (s *Subject) HasIPv6() bool { return s.Network == "tap6" || s.Network == "veth6" }

// checkStack returns what is wrong with the keys of a TCP/IP stack, or with a server that has such
// keys.
func (s *Subject) checkStack() *problem {
	if !s.Serves(stack) {
		switch {
		case len(s.InsideCmd) > 0:
			return &problem{"inside", "only a TCP/IP stack (workloads = [\"stack\"]) has an inside"}
		case s.Network != "":
			return &problem{"network", "only a TCP/IP stack (workloads = [\"stack\"]) has a network of its own"}
		}
		return nil
	}
	switch {
	case len(s.Workloads) > 1:
		return &problem{"workloads", "a TCP/IP stack is no server: let \"stack\" stand alone"}
	case !slices.Contains(networks, s.Network):
		return &problem{"network", fmt.Sprintf("%q is neither tap nor veth, nor with IPv6 tap6 or veth6", s.Network)}
	case !s.usesPlaceholder("{net}") && !s.usesPlaceholder("{host}"):
		return &problem{"run", "holds neither {net} nor {host}, so that the lab could not tell the stack its address"}
	case strings.HasPrefix(s.Network, "tap") && !s.usesPlaceholder("{tap}"):
		return &problem{"run", "holds no {tap}, so that the lab could not tell the stack its device"}
	case !strings.HasPrefix(s.Ready, "line:"):
		return &problem{"ready", fmt.Sprintf("%q cannot be seen of a stack: let it print a line, and name that as line: TEXT", s.Ready)}
	case len(s.InsideCmd) > 0 && s.InsideCmd[0] == "":
		return &problem{"inside", "its first word, the command, is empty"}
	}
	return nil
}
