package main

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/tcpip"
	"weir/tcpip/host"
	"weir/tcpip/link"
)

func TestStackUpRefusesWrongFlags(t *testing.T) {
	capture := filepath.Join(t.TempDir(), "there.pcapng")
	write(t, capture, "")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"up", 2, "--addr"},
		{"up --addr 10.0.0.2", 2, "prefix length"},
		{"up --addr 10.0.0.2/33", 2, "prefix length"},
		{"up --addr fd00::2", 2, "prefix length"},
		{"up --addr 10.0.0.2/24 --gateway x", 2, "--gateway"},
		{"up --addr 10.0.0.2/24 --dns x", 2, "--dns"},
		{"up --addr 10.0.0.2/24 --impair x", 2, "loss=1%"},
		{"up --addr 10.0.0.2/24 --offload x", 2, "--offload"},
		{"up --addr 10.0.0.2/24 --peer 10.0.0.1/24", 2, "--setup"},
		{"up --addr 10.0.0.2/32 --setup", 2, "no address for this machine"},
		{"up --addr 10.0.0.2/24 --service x=1", 2, "echo, discard"},
		{"up --addr 10.0.0.2/24 --service echo=0", 2, "1 to 65535"},
		{"up --addr 10.0.0.2/24 --service echo=7:x", 2, "echo=7"},
		{"up --addr 10.0.0.2/24 --service files=80", 2, "files=80:www"},
		{"up --addr 10.0.0.2/24 --service files=80:nowhere", 2, "no folder nowhere"},
		{"up --addr 10.0.0.2/24 --service echo=7 --service discard=7", 2, "same port"},
		{"up --addr 10.0.0.2/24 --temporary", 2, "--addr auto"},
		{"up --addr 10.0.0.2/24 --tap weir-not-there", 1, ""},
		{"up --addr 10.0.0.2/24 --link addr=10.1.0.2/24", 2, "the name of the device is missing"},
		{"up --addr 10.0.0.2/24 --link weir1", 2, "no address"},
		{"up --addr 10.0.0.2/24 --link weir1,adr=10.1.0.2/24", 2, "did you mean \"addr\""},
		{"up --addr 10.0.0.2/24 --link weir1,addr=10.1.0.2", 2, "prefix length"},
		{"up --addr 10.0.0.2/24 --link weir1,addr=", 2, "addr has no value"},
		{"up --addr 10.0.0.2/24 --link weir1,tun=yes,addr=10.1.0.2/24", 2, "write tun alone"},
		{"up --addr 10.0.0.2/24 --link weir1,addr=10.1.0.2/24,mtu=x", 2, "positive number"},
		{"up --addr 10.0.0.2/24 --link weir1,addr=10.1.0.2/24,mtu=1400,mtu=1300", 2, "given twice"},
		{"up --addr 10.0.0.2/24 --link weir1,addr=10.1.0.2/24,metric=-1", 2, "positive number"},
		{"up --addr 10.0.0.2/24 --link weir0,addr=10.1.0.2/24", 2, "name another device"},
		{"up --addr 10.0.0.2/24 --link weir1,tun,addr=dhcp", 2, "no DHCP on a TUN device"},
		{"up --addr 10.0.0.2/24 --setup --link weir1,tun,addr=10.1.0.2/24,bridge=eth1", 2, "cannot join a bridge"},
		{"up --addr 10.0.0.2/24 --link weir1,addr=10.1.0.2/24,peer=10.1.0.1/24", 2, "--setup"},
		{"up --addr 10.0.0.2/24 --setup --link weir1,addr=10.1.0.2/32", 2, "no address for this machine"},
		{"up --addr 10.0.0.2/24 --link weir1,addr=10.0.0.2/24", 1, "given twice"},
		{"up --addr 10.0.0.2/24 --link lo,addr=10.1.0.2/24", 1, "lo is the loopback"},
		{"up --addr 10.0.0.2/24 --link weir1,addr=fd00::2/64,mtu=1000", 1, "IPv6 needs 1280"},
		{"up --addr 10.0.0.2/24 --metric=-1", 1, "metric 0 or more"},
		{"up --addr 10.0.0.2/24 --gateway fe80::1%weir1", 1, "not on a network"},
		{"up --addr 10.0.0.2/24 --gateway 10.1.0.1", 1, "not on a network"},
		{"up --addr 10.0.0.2/24 --route 192.0.2.0/24", 2, "--route"},
		{"up --addr 10.0.0.2/24 --route 192.0.2.1/24=10.0.0.1", 2, "--route"},
		{"up --addr 10.0.0.2/24 --route 192.0.2.0/24=weir1", 1, "not a link"},
		{"up --addr 10.0.0.2/24 --route 192.0.2.0/24=10.1.0.1", 1, "not on a network"},
		{"up --addr 10.0.0.2/24 --route 2001:db8::/32=10.0.0.1", 1, "same version"},
		{"up --addr 10.0.0.2/24 --impair weir1:loss=1%", 2, "no link \"weir1\""},
		{"link --add 10.0.0.3", 2, "prefix length"},
		{"link --remove 10.0.0.3/24", 2, "without its prefix length"},
		{"link", 1, "no host runs"},
		{"ping", 2, "<host>"},
		{"ping -i 0 10.0.0.1", 2, "-i"},
		{"ping 10.0.0.1", 1, "no host runs"},
		{"nc 10.0.0.1", 2, "the port is missing"},
		{"netstat --most 0", 2, "--most"},
		{"impair loss=2", 2, "0% to 100%"},
		{"draw --format oil", 2, "svg"},
	} {
		cmd := exec.Command(binary(t), append([]string{"stack"}, strings.Fields(c.args)...)...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("weir stack %s: exit status %d, want %d, and one line that says %q:\n%s", c.args, code, c.code, c.says, out)
		}
	}
}

func TestStackSpecParsesKeysAndRefusesWrongOnes(t *testing.T) {
	c, err := stackSpec("addr=10.0.0.2/24, tap=x0,setup,mtu=9000,dns=10.0.0.1,dns=10.0.0.3,offload=off")
	if err != nil || !slices.Equal(c.Addr, []string{"10.0.0.2/24"}) || c.Tap != "x0" || !c.Setup || c.MTU != 9000 || len(c.DNS) != 2 || c.Offload != "off" {
		t.Errorf("stackSpec: got %+v, error %v, want the values that the text names", c, err)
	}
	for _, text := range []string{"setup", "addr", "addr=", "addr=10.0.0.2/24,x=1", "addr=10.0.0.2/24,mtu=x", "addr=10.0.0.2/24,setup=yes", "addr=10.0.0.2/24,offload=maybe", "addr=10.0.0.2/24,"} {
		if c, err := stackSpec(text); err == nil {
			t.Errorf("stackSpec(%q): got %+v, want an error", text, c)
		}
	}
}

func TestNetstatListsGroups(t *testing.T) {
	var b strings.Builder
	writeStatus(&b, &host.Status{Groups: []host.Group{{Addr: "ff02::fb", Interface: "weir0", Members: 2}}}, false)
	if got := strings.Fields(b.String()[strings.Index(b.String(), "multicast groups"):]); !slices.Equal(got[len(got)-3:], []string{"ff02::fb", "weir0", "2"}) {
		t.Errorf("got the fields %q, want the group, its interface and the number of members", got)
	}
}

func TestEveryDropHasAMeaning(t *testing.T) {
	near, far := link.Pair(link.PairConfig{})
	defer far.Close()
	s, err := tcpip.New(tcpip.Config{Link: near, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for why := range s.Drops() {
		if dropMeanings[why.String()] == "" {
			t.Errorf("dropMeanings[%s]: got none, want a meaning, which weir stack netstat prints", why)
		}
	}
	for why := range link.Drops {
		if name := link.Drop(why).String(); dropMeanings[name] == "" {
			t.Errorf("dropMeanings[%s], of a link: got none, want a meaning, which weir stack netstat prints", name)
		}
	}
}
