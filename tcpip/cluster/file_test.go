package cluster

import (
	"strings"
	"testing"
)

func TestInvalidFilesAreRejected(t *testing.T) {
	const host = "[host.a]\ncommand = [\"true\"]\n"
	for _, c := range []struct{ text, want string }{
		{"", "there is no host"},
		{"[host.a]\n", `host "a" has no command`},
		{host + "[host.A]\ncommand = [\"true\"]\n", `differ in case only`},
		{"x = 1\n" + host, "unknown keys"},
		{"path = 1\n" + host, "line 1"},
		{"path = \"loss=2\"\n" + host, "loss"},
		{host + "[[link]]\nbetween = [\"a\", \"b\"]\n", "name two hosts or routers"},
		{host + "[[link]]\nbetween = [\"a\"]\n", "name two hosts or routers"},
		{host + "[[fault]]\nat = \"3\"\nheal = true\n", `fault 1: its time is "3"`},
		{host + "[[fault]]\nat = \"-3s\"\nheal = true\n", "its time"},
		{host + "[[fault]]\nat = \"3s\"\n", "it does nothing"},
		{host + "[[fault]]\nat = \"3s\"\nkill = \"b\"\n", `there is no host "b"`},
		{host + "[[fault]]\nat = \"3s\"\npartition = [[\"a\"]]\n", "two sides"},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got error %v, want one with %q", c.text, err, c.want)
		}
	}
}

func TestFaultsAreSortedByTime(t *testing.T) {
	f, err := Parse([]byte("[host.a]\ncommand = [\"true\"]\n[[fault]]\nat = \"3s\"\nheal = true\n[[fault]]\nat = \"1s\"\npartition = [[\"a\"], [\"a\"]]\none-way = true\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Faults) != 2 || f.Faults[0].String() != "partition a -> a" || f.Faults[1].String() != "heal" {
		t.Errorf("got the faults %v, want the partition before heal", f.Faults)
	}
}

// FuzzParse: no text makes it panic, and a file that is accepted has commands for all hosts.
func FuzzParse(f *testing.F) {
	f.Add([]byte("seed = 1\npath = \"loss=1%\"\n[host.a]\ncommand = [\"true\"]\n[[fault]]\nat = \"1s\"\nheal = true\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text)
		if err != nil {
			return
		}
		for name, h := range file.Hosts {
			if len(h.Command) == 0 {
				t.Errorf("host %q has no command, want the file rejected", name)
			}
		}
	})
}
