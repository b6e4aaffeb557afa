package lifecycle

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	factNames = map[string]Facts{"input": InputReady, "queued": OutputQueued, "duplex": Duplex, "posted": Posted,
		"stopping": Stopping, "close": CloseWanted, "broken": Broken}
	stepNames  = []string{"wait", "open", "wake", "read", "input end", "measure", "flush", "end closed", "end stopped", "end broken", "finish", "give up"}
	stateNames = []string{"new", "reading", "paused", "held", "flushing", "ended"}
)

// script runs one conversation of a file in testdata.
type script struct {
	*testing.T
	session Session
	linger  Linger
	lingers bool
	now     Time
	facts   Facts // of the last "next"
	step    Step  // its result
}

func TestScripts(t *testing.T) {
	for _, file := range []string{"testdata/session.txt", "testdata/linger.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n== ")[1:] {
			title, body, _ := strings.Cut(part, "\n")
			t.Run(title, func(t *testing.T) {
				s := &script{T: t}
				for line := range strings.Lines(body) {
					if line = strings.TrimSpace(line); line != "" {
						s.run(line)
					}
				}
			})
		}
	}
}

// run runs one line.
func (s *script) run(line string) {
	s.Helper()
	if strings.HasPrefix(line, "+") {
		s.now += s.time(line[1:])
		return
	}
	command, want, _ := strings.Cut(line, ": ")
	word := strings.Fields(command)
	switch word[0] {
	case "next":
		s.next(line, word[1:], want)
	case "measured":
		s.expect(line, stepNames[s.session.Measured(s.number(word[1]), s.number(word[2]))], want)
	case "state":
		s.expect(line, stateNames[s.session.State()], word[1])
	case "timer":
		s.expect(line, timeName(s.session.Timer()), word[1])
	default:
		s.report(line, word)
	}
}

// report runs a line that tells the machine what has happened.
func (s *script) report(line string, word []string) {
	s.Helper()
	switch word[0] {
	case "open":
		s.session.Opened()
	case "took":
		s.session.Took(s.number(word[1]))
	case "input":
		s.session.InputEnded()
	case "calls":
		s.calls(word[1:])
	case "end":
		s.session.End(nil, s.now, s.number(word[1]), time.Duration(s.time(word[2])))
	case "progress":
		s.session.Progressed(s.now, time.Duration(s.time(word[1])))
	case "flushed":
		s.session.Flushed()
	case "linger":
		s.linger, s.lingers = NewLinger(s.now, time.Duration(s.time(word[1]))), true
	case "discard":
		s.linger.Discarded(s.number(word[1]))
	default:
		s.Fatalf("%q: unknown command %s", line, word[0])
	}
}

// next asks for the next step.
func (s *script) next(line string, facts []string, want string) {
	s.Helper()
	s.facts = s.session.Due(s.now)
	for _, name := range facts {
		s.facts |= factNames[strings.TrimSuffix(name, ":")]
	}
	if !s.lingers {
		s.step = s.session.Next(s.facts)
		s.expect(line, stepNames[s.step], want)
		return
	}
	step, at := s.linger.Next(s.now, s.facts)
	got := stepNames[step]
	if at != 0 {
		got += " " + timeName(at)
	}
	s.expect(line, got, want)
}

// calls reports the result of the call of the last step.
func (s *script) calls(asked []string) {
	s.Helper()
	pauses, at := false, Time(0)
	for i, word := range asked {
		switch word {
		case "pause":
			pauses = true
		case "wakeat":
			at = s.time(asked[i+1])
		}
	}
	s.session.Called(s.step, s.facts, pauses, at)
}

func (s *script) expect(line, got, want string) {
	s.Helper()
	if got != want {
		s.Fatalf("%q: got %s, want %s", line, got, want)
	}
}

func (s *script) number(word string) int {
	s.Helper()
	if word == "unknown" {
		return UnknownInput
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *script) time(word string) Time {
	s.Helper()
	d, err := time.ParseDuration(word)
	if err != nil {
		s.Fatal(err)
	}
	return Time(d)
}

func timeName(t Time) string {
	if t == 0 {
		return "none"
	}
	return time.Duration(t).String()
}
