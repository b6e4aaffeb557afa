package profile

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/lab/profile/sampler"
	"weir/lab/subject"
)

// jcmdTimeout limits the time in which a JVM writes its map.
const jcmdTimeout = 10 * time.Second

// askJVM has a process write the map of its compiled code, if it is a JVM and the JDK's tool is
// installed. Without the map the code has no names, which a note says.
func askJVM(pid int, maps []sampler.Mapping) {
	isLibrary := func(m sampler.Mapping) bool { return strings.HasSuffix(m.Path, "/libjvm.so") }
	if !slices.ContainsFunc(maps, isLibrary) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), jcmdTimeout)
	defer cancel()
	_ = exec.CommandContext(ctx, "jcmd", strconv.Itoa(pid), "Compiler.perfmap").Run()
}

// profiledEnv is what a language's runtime needs in its environment to keep names and frame
// pointers of code that it compiles.
var profiledEnv = map[string][2]string{
	"JavaScript": {"NODE_OPTIONS", "--perf-basic-prof"},
	"Java":       {"JAVA_TOOL_OPTIONS", "-XX:+PreserveFramePointer"},
	"Kotlin":     {"JAVA_TOOL_OPTIONS", "-XX:+PreserveFramePointer"},
}

// prepare adds what a profile needs to a subject's environment, unless the subject sets it.
func prepare(s *subject.Subject) {
	entry, ok := profiledEnv[s.Language]
	if _, set := s.Env[entry[0]]; !ok || set {
		return
	}
	s.Env = maps.Clone(s.Env)
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env[entry[0]] = entry[1]
}
