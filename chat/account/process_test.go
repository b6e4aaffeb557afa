package account

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/internal/durable"
)

// work is what a worker does: one operation a line, and a line of answer to each, "ok" or the
// error.
func work(dir string, crash []string) {
	o := Options{Iterations: minIterations, MarkerInterval: time.Hour}
	if len(crash) == 2 {
		left, _ := strconv.Atoi(crash[1])
		o.step = func(step durable.Step) {
			if string(step) != crash[0] {
				return
			}
			if left--; left == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
	s, err := Open(dir, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		answer := "ok"
		if err := operate(s, strings.Fields(in.Text())); err != nil {
			answer = err.Error()
		}
		fmt.Println(answer)
	}
}

func operate(s *Store, words []string) (err error) {
	switch words[0] {
	case "add":
		_, err = s.Add(words[1], "correct horse", Member, false)
	case "register":
		_, err = s.Register(words[1], "correct horse", words[2])
	case "cert":
		err = s.AddCert(words[1], words[2])
	case "ban":
		_, err = s.Ban(Ban{Pattern: words[1]})
	case "marker":
		offset, _ := strconv.ParseInt(words[3], 10, 64)
		err = s.SaveReadMarker(words[1], SharedDevice, words[2], offset)
	case "mark":
		offset, _ := strconv.ParseInt(words[3], 10, 64)
		s.SetReadMarker(words[1], "", words[2], offset)
	case "flush":
		err = s.marks.flush()
	}
	return err
}

// run gives a worker its lines and returns its answers.
func run(t *testing.T, dir string, lines []string, crash ...string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"worker", dir}, crash...)...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.Output()
	if killed := cmd.ProcessState != nil && !cmd.ProcessState.Exited(); err != nil && !killed {
		t.Errorf("a worker process: got %v, want exit status 0 or SIGKILL", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestConcurrentProcessesLoseNoChange has processes change the same files at the same time. No
// change answered with ok is lost, a name and an invite are given once, and a read marker is the
// highest that any process set.
func TestConcurrentProcessesLoseNoChange(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 4 {
		dir := t.TempDir()
		s := open(t, dir, Options{})
		add(t, s, "shared", "correct horse")
		var codes []string
		for range 3 {
			code, _, err := s.NewInvite("", time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		scripts := make([][]string, 3)
		for i := range scripts {
			scripts[i] = script(random, i, codes)
		}
		answers := make([][]string, len(scripts))
		var all sync.WaitGroup
		for i := range scripts {
			all.Go(func() { answers[i] = run(t, dir, scripts[i]) })
		}
		all.Wait()
		checkProcesses(t, s, scripts, answers)
	}
}

// script draws what worker i does. Names are drawn from few, so that workers meet.
func script(random *rand.Rand, i int, codes []string) []string {
	var lines []string
	for n := range 12 {
		switch random.IntN(6) {
		case 0:
			lines = append(lines, fmt.Sprintf("add name%d", random.IntN(6)))
		case 1:
			lines = append(lines, fmt.Sprintf("register guest%d %s", random.IntN(6), codes[random.IntN(len(codes))]))
		case 2:
			lines = append(lines, fmt.Sprintf("cert shared %064x", i*100+n))
		case 3:
			lines = append(lines, fmt.Sprintf("ban 192.0.%d.%d", i, n))
		case 4:
			lines = append(lines, fmt.Sprintf("mark shared room%d %d", random.IntN(2), random.IntN(1000)))
		case 5:
			lines = append(lines, "flush")
		}
	}
	return lines
}

func checkProcesses(t *testing.T, s *Store, scripts, answers [][]string) {
	t.Helper()
	made, spent, certs, bans, rooms := map[string]int{}, map[string]int{}, 0, 0, map[string]int64{}
	for i, script := range scripts {
		if len(answers[i]) != len(script) {
			t.Fatalf("worker %d: got %d answers %q, want one for each of %d commands", i, len(answers[i]), answers[i], len(script))
		}
		for n, line := range script {
			words, ok := strings.Fields(line), answers[i][n] == "ok"
			switch {
			case words[0] == "add" && ok:
				made[words[1]]++
			case words[0] == "register" && ok:
				made[words[1]]++
				spent[words[2]]++
			case words[0] == "cert" && ok:
				certs++
			case words[0] == "ban" && ok:
				bans++
			case words[0] == "mark":
				offset, _ := strconv.ParseInt(words[3], 10, 64)
				rooms[words[2]] = max(rooms[words[2]], offset)
			case words[0] != "add" && words[0] != "register" && !ok:
				t.Errorf("worker %d: %s: got %q, want ok", i, line, answers[i][n])
			}
		}
	}
	for what, times := range made {
		if times != 1 || s.Lookup(what) == nil {
			t.Errorf("account %s: got %d successful creations and %+v, want one creation and the account", what, times, s.Lookup(what))
		}
	}
	for code, times := range spent {
		if times != 1 {
			t.Errorf("invite code %s: got %d registrations, want 1", code, times)
		}
	}
	invites, err := s.Invites()
	if a := s.Accounts(); len(a) != len(made)+1 || len(s.Lookup("shared").Certs) != certs || len(s.Bans()) != bans || err != nil || len(invites) != 3-len(spent) {
		t.Errorf("got %d accounts, %d certificates, %d bans, %d invites (error %v); want the acknowledged %d, %d, %d, %d", len(a), len(s.Lookup("shared").Certs), len(s.Bans()), len(invites), err, len(made)+1, certs, bans, 3-len(spent))
	}
	for room, offset := range rooms {
		if got, _ := s.ReadMarker("shared", "", room); got != offset {
			t.Errorf("read marker in %s: got %d, want %d, the highest that a worker set", room, got, offset)
		}
	}
	if p := s.Problems(); len(p) > 0 {
		t.Errorf("Problems: got %v, want none", p)
	}
}

// TestAKillAtAnyStepLeavesWholeFiles kills a process at every step of every change. Then a file has
// its former or its new content, other files are unchanged, the lock is free, an invite is valid if
// and only if no account was registered with it, and the next change succeeds.
func TestAKillAtAnyStepLeavesWholeFiles(t *testing.T) {
	steps := []durable.Step{stepLocked, durable.Written, durable.Synced, durable.Renamed, durable.Done}
	for _, operation := range []string{"add new", "register new CODE", "ban 192.0.2.1", "cert old " + strings.Repeat("ab", 32), "mark old room 17\nflush", "marker old room 17"} {
		for _, step := range steps {
			for number := 1; number <= 2; number++ {
				t.Run(fmt.Sprintf("%s/%s/%d", strings.Fields(operation)[0], step, number), func(t *testing.T) {
					t.Parallel()
					crashAt(t, operation, step, number)
				})
			}
		}
	}
}

func crashAt(t *testing.T, operation string, step durable.Step, number int) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	add(t, s, "old", "correct horse")
	code, _, err := s.NewInvite("", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ban(Ban{Pattern: "198.51.100.1"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.ReplaceAll(operation, "CODE", code), "\n")
	answers := run(t, dir, lines, string(step), strconv.Itoa(number))
	// the step was not reached so often
	ok := len(answers) == len(lines) && answers[len(answers)-1] == "ok"
	later := open(t, dir, Options{})
	if _, err := later.Plain("old", "correct horse"); err != nil || len(later.Problems()) > 0 {
		t.Fatalf("after the kill: got %v at the login of an older account and the problems %v, want nil and none", err, later.Problems())
	}
	added, banned, certs := later.Lookup("new") != nil, len(later.Bans()) == 2, len(later.Lookup("old").Certs) == 1
	mark, marked := later.ReadMarker("old", "", "room")
	marker, _ := later.ReadMarker("old", SharedDevice, "room")
	happened := slices.Contains([]bool{added, banned, certs, marked && mark == 17, marker == 17}, true)
	if ok && !happened || !ok && step == durable.Renamed && number == 1 && !happened || !ok && step == durable.Written && number == 1 && happened {
		t.Errorf("killed at %s, time %d: got the answers %q and the change in effect: %v; want it after ok or the rename, not before the rename", step, number, answers, happened)
	}
	_, first := later.Register("second", "correct horse", code)
	registered := added && strings.HasPrefix(operation, "register")
	if (first == nil) == registered {
		t.Errorf("second registration with the code: got %v after the first was in effect: %v; want ErrInvite only if it was", first, registered)
	}
	_, err = later.Ban(Ban{Pattern: "203.0.113.1"})
	if _, also := later.Add("third", "correct horse", Member, false); err != nil || also != nil {
		t.Errorf("changes after the kill: Ban got %v, Add got %v; want nil", err, also)
	}
	if left := leftovers(t, dir); len(left) > 0 {
		t.Errorf("got the temporary files %v left by the killed process, want none", left)
	}
}

// leftovers are files that are none of the data directory's.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	known := []string{"accounts", "accounts.lock", "bans", "invites", "marks", "secret"}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			left = append(left, e.Name())
		}
	}
	return left
}
