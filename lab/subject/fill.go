package subject

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

// fillFolders replaces the placeholders {dir}, {out} and {root} by the names of folders.
func (s *Subject) fillFolders(words []string) []string {
	return replaceAll(words, strings.NewReplacer("{dir}", s.Dir, "{out}", s.Out, "{root}", s.Root))
}

// fill replaces the placeholders of folders, such as {dir}, and of a run's parameters, such as
// {port}.
func (s *Subject) fill(words []string, p Params) []string {
	port := strconv.Itoa(p.Port)
	return replaceAll(words, strings.NewReplacer("{dir}", s.Dir, "{out}", s.Out, "{root}", s.Root,
		"{addr}", net.JoinHostPort(p.Host, port), "{host}", p.Host, "{port}", port, "{workload}", p.Workload,
		"{size}", strconv.Itoa(p.Size), "{work_us}", strconv.Itoa(p.WorkUS), "{wait_ms}", strconv.Itoa(p.WaitMS),
		"{www}", p.Www, "{sleep_ms}", strconv.Itoa(p.SleepMS), "{sleep_every}", strconv.Itoa(p.SleepEvery),
		"{filters}", strconv.Itoa(p.Filters), "{gzip}", digit(p.Gzip), "{cert}", p.Cert, "{key}", p.Key, "{upstream}", p.Upstream,
		"{tap}", p.Tap, "{net}", p.Net, "{mtu}", strconv.Itoa(p.MTU), "{cores}", strconv.Itoa(p.Cores)))
}

// InsideCommand returns the command line by which a stack measures its own loopback; empty if it
// has none.
func (s *Subject) InsideCommand(i Inside) []string {
	return replaceAll(s.InsideCmd, strings.NewReplacer("{dir}", s.Dir, "{out}", s.Out, "{root}", s.Root, "{operation}", i.Operation,
		"{connections}", strconv.Itoa(i.Connections), "{duration}", i.Duration.String(), "{cores}", strconv.Itoa(i.Cores)))
}

// digit formats a bool for a command line.
func digit(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

func replaceAll(words []string, r *strings.Replacer) []string {
	filled := make([]string, len(words))
	for i, w := range words {
		filled[i] = r.Replace(w)
	}
	return filled
}

// Command returns the command line of a run, without a shell: its words with placeholders replaced.
func (s *Subject) Command(p Params) []string { return s.fill(s.RunCmd, p.withDefaults()) }

// Environ returns what the subject adds to the environment of a run, as NAME=value.
func (s *Subject) Environ(p Params) []string {
	var all []string
	for name, value := range s.Env {
		all = append(all, name+"="+value)
	}
	return s.fill(all, p.withDefaults())
}

// atShell returns the line by which a user repeats a command in the subject's folder, if that
// stays.
func (s *Subject) atShell(words []string) string {
	if s.Temporary {
		return shellWords(words)
	}
	return "cd " + shellWords([]string{s.Dir}) + " && " + shellWords(words)
}

// HowToCheck returns the end of an error, which says how a user checks the subject; empty if its
// folder is removed after the run.
func (s *Subject) HowToCheck() string {
	switch {
	case s.Temporary:
		return ""
	case s.File == commandFile:
		return ": run weir lab check --subject NAME=COMMAND with that load to see why"
	case s.Dir != filepath.Join(s.Root, "subjects", s.Name):
		return ": run it alone with weir lab check --subject " + shellWords([]string{s.File}) + " to see why"
	}
	return ": run it alone with weir lab check " + s.Name + " to see why"
}

// shellWords quotes a command for a shell.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}
