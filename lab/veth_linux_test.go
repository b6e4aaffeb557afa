package lab

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCongestionIsTheNamespacesOwn: what stands in the results holds for the connections of the trials.
func TestCongestionIsTheNamespacesOwn(t *testing.T) {
	host := firstLine(congestionFile)
	pair, err := newVethPair(fmt.Sprintf("weirtest%d", os.Getpid()))
	if err != nil {
		t.Skip(err) // it takes root and a kernel with veth
	}
	defer func() {
		if err := pair.remove(); err != nil {
			t.Error(err)
		}
	}()
	ip, err := exec.LookPath("ip")
	if err != nil {
		t.Skip("ip is not installed: apt-get install iproute2")
	}
	chosen := 0
	for _, c := range strings.Fields(firstLine("/proc/sys/net/ipv4/tcp_available_congestion_control")) {
		if out, err := exec.Command(ip, "netns", "exec", pair.server, "sh", "-c", "echo "+c+" > "+congestionFile).CombinedOutput(); err != nil {
			t.Logf("cannot choose %s there: %s", c, out)
			continue
		}
		chosen++
		if got := congestionIn(pair.server); got != c {
			t.Errorf("the namespace uses %q, and it says %q", c, got)
		}
	}
	if chosen == 0 {
		t.Skip("no congestion control can be chosen in a namespace here")
	}
	if got := firstLine(congestionFile); got != host {
		t.Errorf("reading it left this process with %q, had %q", got, host)
	}
	if got := congestionIn("weir-no-such-namespace"); got != "" {
		t.Errorf("a namespace that is not there uses %q", got)
	}
}
