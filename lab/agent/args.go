package agent

import (
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"weir/lab/workload/http/httpload"
)

// Limits of the arguments of a share.
const (
	maxArgs      = 256
	maxArgsBytes = 64 << 10
	maxFiles     = 8
	maxFileBytes = 2 << 20 // of all files of a share
)

// LoadKinds are the commands of weir load, which start the arguments of a share.
var LoadKinds = []string{"stream", "http", "grpc", "ws", "chat", "stack"}

// FileFlags are the flags of weir load that name a file. An agent refuses them unless they name a
// file of the share, so that a load neither sends files of its machine nor writes any. The body of
// a request cannot be a file either.
var FileFlags = []string{"mix", "expect", "ca", "acks"}

// mixFlag is the flag of a file that may name other files.
const mixFlag = "mix"

// filesDir starts the name of a file of the share in its arguments. The agent replaces it by the
// folder that it writes the files into.
const filesDir = "{files}/"

// Share is an agent's share of a load.
type Share struct {
	// of weir load, without --steer and --histograms, which agents add
	Args []string
	// the files that Args name
	Files []File
}

// File is a file of a share.
type File struct {
	Name string `json:"name"` // without a folder
	Data []byte `json:"data"`
}

// NewShare returns a share with the arguments args, and with the content of the files that they
// name. These are read now.
func NewShare(args []string) (s Share, err error) {
	s.Args = slices.Clone(args)
	for i, arg := range args {
		flag, value, joined := fileFlag(arg)
		if flag == "" {
			continue
		}
		at := i
		if !joined {
			if at++; at == len(args) {
				break // weir load says what is missing
			}
			value = args[at]
		}
		data, err := os.ReadFile(value)
		if err != nil {
			return s, fmt.Errorf("agent: cannot read a file of the load: %w", err)
		}
		f := File{Name: fmt.Sprintf("%s%d", flag, len(s.Files)), Data: data}
		s.Files = append(s.Files, f)
		s.Args[at] = strings.TrimSuffix(s.Args[at], value) + filesDir + f.Name
	}
	return s, s.check()
}

// fileFlag returns the flag of FileFlags that arg is; empty if it is none. Its value is joined to
// it or the next argument.
func fileFlag(arg string) (flag, value string, joined bool) {
	flag, value, joined = strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if !strings.HasPrefix(arg, "-") || !slices.Contains(FileFlags, flag) {
		return "", "", false
	}
	return flag, value, joined
}

// check returns an error that says why s is not a load that an agent offers.
func (s *Share) check() error {
	if len(s.Args) == 0 || !slices.Contains(LoadKinds, s.Args[0]) {
		return fmt.Errorf("an agent only offers loads: the first argument must be one of %s", strings.Join(LoadKinds, ", "))
	}
	if err := s.checkFiles(); err != nil {
		return err
	}
	size := 0
	for i, arg := range s.Args {
		size += len(arg)
		if strings.ContainsRune(arg, 0) {
			return errors.New("an argument of a load has a null byte")
		}
		if strings.HasPrefix(arg, "@") || strings.Contains(arg, "=@") {
			return errors.New("an agent refuses an argument that starts with @, which names a file of its machine")
		}
		if err := s.checkFlag(i); err != nil {
			return err
		}
	}
	if len(s.Args) > maxArgs || size > maxArgsBytes {
		return fmt.Errorf("a load has %d arguments with %d bytes, the limits are %d and %d", len(s.Args), size, maxArgs, maxArgsBytes)
	}
	return nil
}

// checkFlag returns an error if argument i is a flag that names a file which is not one of s.
func (s *Share) checkFlag(i int) error {
	flag, value, joined := fileFlag(s.Args[i])
	if flag == "" {
		return nil
	}
	if !joined && i+1 < len(s.Args) {
		value = s.Args[i+1]
	}
	name, inside := strings.CutPrefix(value, filesDir)
	at := slices.IndexFunc(s.Files, func(f File) bool { return f.Name == name })
	if !inside || at < 0 {
		return fmt.Errorf("an agent refuses --%s, which names a file of its machine", flag)
	}
	if flag == mixFlag {
		return checkMix(s.Files[at].Data)
	}
	return nil
}

// checkMix returns an error if a file of described requests names other files.
func checkMix(text []byte) error {
	mix, err := httpload.ParseMix(text)
	if err != nil {
		return fmt.Errorf("the described requests are invalid: %w", err)
	}
	for _, r := range mix {
		if r.BodyFile != "" || r.Check.BodyFile != "" {
			return errors.New("an agent refuses described requests that name a file of its machine")
		}
	}
	return nil
}

var validFileName = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

func (s *Share) checkFiles() error {
	size := 0
	for i, f := range s.Files {
		if !validFileName.MatchString(f.Name) || slices.ContainsFunc(s.Files[:i], func(o File) bool { return o.Name == f.Name }) {
			return fmt.Errorf("the name %.80q of a file of a load is invalid or given twice", f.Name)
		}
		size += len(f.Data)
	}
	if len(s.Files) > maxFiles || size > maxFileBytes {
		return fmt.Errorf("a load has %d files with %d bytes, the limits for agents are %d and %d", len(s.Files), size, maxFiles, maxFileBytes)
	}
	return nil
}

// write writes the files of s into dir, and returns the arguments that name them there.
func (s *Share) write(dir string) (args []string, err error) {
	for _, f := range s.Files {
		err = errors.Join(err, os.WriteFile(path.Join(dir, f.Name), f.Data, 0o600))
	}
	for _, arg := range s.Args {
		args = append(args, strings.Replace(arg, filesDir, dir+"/", 1))
	}
	return args, err
}

// steered returns args with the flags by which a load can be steered and merged.
func steered(args []string) []string {
	flags := []string{args[0]}
	for _, flag := range []string{"--steer", "--histograms"} {
		if !slices.Contains(args, flag) {
			flags = append(flags, flag)
		}
	}
	return append(flags, args[1:]...)
}
