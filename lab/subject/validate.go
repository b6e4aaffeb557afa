package subject

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// examples has a valid line for every key of a subject.toml.
var examples = map[string]string{
	"name":          `name = "my-server"`,
	"language":      `language = "Erlang"`,
	"paradigm":      `paradigm = "process per connection"`,
	"about":         `about = "Reads a message and prints it."`,
	"differs":       `differs = "Reads 64 KiB at a time."`,
	"lacks":         `lacks = ["ETag"]`,
	"workloads":     `workloads = ["sink", "echo"]`,
	"needs":         `needs = ["erl"]`,
	"check":         `check = ["sh", "check.sh"]`,
	"version":       `version = ["erl", "-noshell", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."]`,
	"build":         `build = ["cc", "-O2", "-o", "{out}/my-server", "main.c"]`,
	"run":           `run = ["{out}/my-server", "--listen", "{addr}"]`,
	"port":          `port = 8080`,
	"ready":         `ready = "listen"`,
	"warm_messages": `warm_messages = 2000`,
	"sources":       `sources = ["*.c"]`,
	"dependencies":  `dependencies = 0`,
	"binary":        `binary = "{out}/my-server"`,
	"env":           `env = { GOGC = "100" }`,
	"inside":        `inside = ["{out}/my-stack", "--inside", "{operation}", "--connections", "{connections}", "--duration", "{duration}"]`,
	"network":       `network = "tap"`,
	"contract":      `contract = "full"`,
}

// keys are the keys of a subject.toml, sorted.
var keys = slices.Sorted(maps.Keys(examples))

// forInstance returns the end of an error about a key: an example of a valid line.
func forInstance(key string) string {
	if e, ok := examples[key]; ok {
		return "; write for instance: " + e
	}
	return ""
}

// problem is the reason why a description is invalid.
type problem struct{ key, text string }

var (
	goodName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	placeholder = regexp.MustCompile(`\{[A-Za-z_]+\}`)
)

// problem returns the first error in the description, nil if it is valid.
func (s *Subject) problem() *problem {
	for _, check := range []func() *problem{s.checkWords, s.checkChoices, s.checkNumbers, s.checkPlaceholders, s.checkStack, s.checkAddress} {
		if p := check(); p != nil {
			return p
		}
	}
	return nil
}

func (s *Subject) checkWords() *problem {
	switch {
	case s.Name == "":
		return &problem{"name", "missing"}
	case !goodName.MatchString(s.Name):
		return &problem{"name", fmt.Sprintf("%q has other characters than a-z, 0-9 and inner hyphens", s.Name)}
	case s.Language == "":
		return &problem{"language", "missing"}
	case s.Paradigm == "":
		return &problem{"paradigm", "missing"}
	case len(s.RunCmd) == 0 || s.RunCmd[0] == "":
		return &problem{"run", "missing, so that the lab could not start the server"}
	case len(s.BuildCmd) > 0 && s.BuildCmd[0] == "":
		return &problem{"build", "its first word, the command, is empty"}
	case len(s.VersionCmd) > 0 && s.VersionCmd[0] == "":
		return &problem{"version", "its first word, the command, is empty"}
	case len(s.CheckCmd) > 0 && s.CheckCmd[0] == "":
		return &problem{"check", "its first word, the command, is empty"}
	}
	return nil
}

func (s *Subject) checkChoices() *problem {
	if len(s.Workloads) == 0 {
		return &problem{"workloads", "missing"}
	}
	for i, w := range s.Workloads {
		if !slices.Contains(Workloads, w) {
			return &problem{"workloads", fmt.Sprintf("there is no workload %q, only %s", w, strings.Join(Workloads, ", "))}
		}
		if slices.Contains(s.Workloads[:i], w) {
			return &problem{"workloads", fmt.Sprintf("%q is given twice", w)}
		}
	}
	if line, ok := strings.CutPrefix(s.Ready, "line:"); ok {
		if strings.TrimSpace(line) == "" {
			return &problem{"ready", `"line:" is followed by no text to wait for`}
		}
	} else if s.Ready != "listen" && s.Ready != "connect" {
		return &problem{"ready", fmt.Sprintf("%q is none of listen, connect and line: TEXT", s.Ready)}
	}
	for _, name := range s.Lacks {
		if !slices.Contains(Lackable, name) {
			return &problem{"lacks", fmt.Sprintf("%q is none of %s", name, strings.Join(Lackable, ", "))}
		}
	}
	if len(s.Lacks) > 0 && !slices.Contains(s.Workloads, "files") {
		return &problem{"lacks", "it is for servers of files"}
	}
	if slices.Contains(s.Workloads, "proxy") && !s.usesPlaceholder("{upstream}") {
		return &problem{"run", "holds no {upstream}, which a proxy forwards to"}
	}
	if s.Contract != "full" && s.Contract != "published" {
		return &problem{"contract", fmt.Sprintf("%q is neither full nor published", s.Contract)}
	}
	return nil
}

func (s *Subject) checkNumbers() *problem {
	switch {
	case s.Port < 0 || s.Port > 65535:
		return &problem{"port", fmt.Sprintf("%d is no port: there are those from 1 to 65535", max(s.Port, 0))}
	case s.WarmMessages < 0:
		return &problem{"warm_messages", fmt.Sprintf("%d is negative", s.WarmMessages)}
	case s.Dependencies < 0:
		return &problem{"dependencies", fmt.Sprintf("%d is negative", s.Dependencies)}
	}
	return nil
}

// Workloads lists the valid workloads: two on messages, four on HTTP requests, one on WebSocket
// messages, one on gRPC calls, one on chat rooms, and the one of TCP/IP stacks. Package lab has a
// workload for each name.
var Workloads = []string{"sink", "echo", "page", "files", "proxy", "requests", "websocket", "grpc", "chat", stack}

// placesOnly, everything and ofInside are the placeholders that a key may contain.
var (
	placesOnly = []string{"{dir}", "{out}", "{root}"}
	everything = append(slices.Clone(placesOnly), "{addr}", "{host}", "{port}", "{workload}", "{size}", "{work_us}", "{wait_ms}",
		"{www}", "{sleep_ms}", "{sleep_every}", "{filters}", "{gzip}", "{cert}", "{key}", "{upstream}", "{tap}", "{net}", "{mtu}", "{cores}")
	ofInside = append(slices.Clone(placesOnly), "{operation}", "{connections}", "{duration}", "{cores}")
)

func (s *Subject) checkPlaceholders() *problem {
	values := slices.Sorted(maps.Values(s.Env))
	for _, k := range []struct {
		key   string
		words []string
		known []string
	}{
		{"check", s.CheckCmd, placesOnly}, {"version", s.VersionCmd, placesOnly}, {"build", s.BuildCmd, placesOnly}, {"binary", []string{s.Binary}, placesOnly},
		{"needs", s.Needs, nil}, {"sources", s.Sources, nil}, {"run", s.RunCmd, everything}, {"env", values, everything},
		{"inside", s.InsideCmd, ofInside},
	} {
		for _, word := range k.words {
			for _, p := range placeholder.FindAllString(word, -1) {
				if !slices.Contains(k.known, p) {
					return &problem{k.key, unknownPlaceholder(p, k.known)}
				}
			}
		}
	}
	return nil
}

func unknownPlaceholder(p string, known []string) string {
	if len(known) == 0 {
		return fmt.Sprintf("%s: this key takes no placeholders", p)
	}
	return fmt.Sprintf("unknown placeholder %s, here there are %s", p, strings.Join(known, ", "))
}

// checkAddress rejects a server whose command contains no placeholder for its address.
func (s *Subject) checkAddress() *problem {
	if s.usesPlaceholder("{addr}") || s.usesPlaceholder("{port}") || s.Port != 0 || s.Network != "" {
		return nil
	}
	return &problem{"run", "holds neither {addr} nor {port}, so that the lab could not tell the server where to listen, and no port says where it does"}
}
