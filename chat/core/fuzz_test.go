package core

import (
	"flag"
	"strings"
	"testing"

	"weir/chat/account"
)

// FuzzSession has one client send arbitrary bytes in two pieces while another is connected. The
// server must continue with consistent data structures, serve the other client, and create no
// unknown files in the data directory.
func FuzzSession(f *testing.F) {
	// code coverage differs from run to run: minimizing inputs would take all the fuzzer's time
	flag.Set("test.fuzzminimizetime", "1x")
	for _, seed := range []string{
		"NICK a\r\nUSER a 0 * :A\r\nJOIN #a,#b\r\nPRIVMSG #a :x\r\nRENAME #a #c :y\r\nTOPIC #c :t\r\nMODE #c +bk a!*@* k\r\n",
		"CAP LS 302\r\nCAP REQ :sasl batch draft/multiline message-tags labeled-response\r\nAUTHENTICATE PLAIN\r\nAUTHENTICATE AGFubgBhbm4=\r\nNICK a\r\nUSER a 0 * :A\r\nCAP END\r\n",
		"NICK a\nUSER a 0 * :A\nCAP REQ :batch draft/multiline message-tags labeled-response echo-message\nJOIN #../x\n@label=1 BATCH +1 draft/multiline #../x\n@batch=1 PRIVMSG #../x :y\nBATCH -1\n",
		"PASS ann:correct-horse\r\nNICK ann\r\nUSER a 0 * :A\r\nMETADATA * SET a/../b :v\r\nMETADATA * SUB a\r\nMONITOR + b,c\r\nWHO * %tcnuhraf,1\r\nCHATHISTORY LATEST ann * 5\r\nQUIT :\xff\r\n",
		"\x00\r\n:x y\r\n@\r\n@a=\\ b\r\n" + strings.Repeat("x", 600) + "\r\n",
	} {
		f.Add(seed, uint(20))
	}
	f.Fuzz(func(t *testing.T, said string, cut uint) {
		s := startServer(t, Options{Registration: account.RegistrationOpen, CommandsPerSecond: -1}).run()
		defer s.halt()
		other := s.user("other")
		c := s.client("c")
		cut %= uint(len(said) + 1)
		c.raw(said[:cut])
		s.chat.untilIdle()
		c.raw(said[cut:] + "\r\n")
		c.stillThere()
		other.sync()
		fault := s.chat.fault()
		if fault != "" {
			t.Fatal(fault)
		}
		s.strangers()
	})
}

// strangers reports files that do not belong into a data directory.
func (s *server) strangers() {
	s.t.Helper()
	for dir, known := range map[string]string{"/": " chat ", s.dir: " accounts accounts.lock bans invites secret marks rooms direct metadata "} {
		all, err := s.o.Disk.ReadDir(dir)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range all {
			if !strings.Contains(known, " "+e.Name()+" ") {
				s.t.Errorf("%s has %s, want only known files", dir, e.Name())
			}
		}
	}
}
