package profile

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"weir/internal/printable"
	"weir/lab/profile/sampler"
	"weir/lab/profile/symbol"
)

// Names of frames without a symbol.
const (
	unknownCode    = "[unknown]"
	unknownKernel  = "[kernel]"
	unknownCallers = "[callers unknown]"
	anonymousCode  = "[code compiled at run time]"
)

// A resolver gives names to addresses. It collects what cannot be named. It reads files of the
// processes, so it must be used while they live.
type resolver struct {
	kernel    *symbol.Table            // nil: not readable
	images    map[string]*symbol.Image // by path, and whether it is deleted; nil: not readable
	compiled  map[int]*symbol.Table    // code compiled at run time, by process; nil: no map
	shortened map[string]int           // chains that were cut, by file without frame pointers
	nameless  map[string]int           // frames without a name, by file without names
	unmapped  int                      // frames of compiled code without a map
	samples   int
}

// newResolver returns a resolver with the kernel's symbols, which are nil if they cannot be read.
func newResolver(kernel *symbol.Table) *resolver {
	return &resolver{kernel: kernel, images: map[string]*symbol.Image{}, compiled: map[int]*symbol.Table{}, shortened: map[string]int{}, nameless: map[string]int{}}
}

// name returns the samples of a recording with their names.
func (r *resolver) name(rec *sampler.Recording) []observed {
	stacks := map[string][]Frame{}
	all := make([]observed, len(rec.Samples))
	r.samples = len(all)
	for i, x := range rec.Samples {
		frames := r.stack(x, rec.Maps[x.PID])
		key := foldKey(frames)
		if stacks[key] == nil {
			stacks[key] = frames
		}
		all[i] = observed{stacks[key], x.At}
	}
	return all
}

// stack returns the frames of a sample, outermost first.
func (r *resolver) stack(x sampler.Sample, maps []sampler.Mapping) []Frame {
	frames := make([]Frame, 0, len(x.Kernel)+len(x.User)+1)
	for i, ip := range x.Kernel {
		name := unknownKernel
		if r.kernel != nil {
			if found := r.kernel.Find(callAddress(ip, i)); found != "" {
				name = found
			}
		}
		frames = append(frames, Frame{Name: name, Kernel: true})
	}
	frames = r.userFrames(frames, x, maps)
	if len(frames) == 0 { // the kernel had no memory to walk the stack in
		frames = append(frames, Frame{Name: unknownCode})
	}
	slices.Reverse(frames)
	return frames
}

// callAddress returns an address within the function of a frame. All but the innermost are return
// addresses, which can be behind the function.
func callAddress(ip uint64, frame int) uint64 {
	if frame > 0 {
		return ip - 1
	}
	return ip
}

// userFrames appends the program's frames, innermost first. It ends at the first address that is
// not of executable memory, and behind the first function whose file has no frame pointers.
func (r *resolver) userFrames(frames []Frame, x sampler.Sample, maps []sampler.Mapping) []Frame {
	for i, ip := range x.User {
		name, chained := r.userFrame(x.PID, callAddress(ip, i), maps)
		if name == "" {
			if i == 0 {
				frames = append(frames, Frame{Name: unknownCode})
			}
			return append(frames, Frame{Name: unknownCallers})
		}
		frames = append(frames, Frame{Name: name})
		if !chained {
			return append(frames, Frame{Name: unknownCallers})
		}
	}
	return frames
}

// userFrame returns the name of the function at an address, "" if no memory is mapped there, and
// whether its caller can be found.
func (r *resolver) userFrame(pid int, addr uint64, maps []sampler.Mapping) (name string, chained bool) {
	i := sort.Search(len(maps), func(i int) bool { return maps[i].End > addr })
	if i == len(maps) || addr < maps[i].Start {
		return "", false
	}
	m := maps[i]
	switch {
	case strings.HasPrefix(m.Path, "[v"): // vdso, vsyscall
		return m.Path, true
	case !isFile(m.Path):
		return r.compiledFrame(pid, addr, maps), true
	}
	label := "[" + baseName(m.Path) + "]"
	image := r.image(pid, m)
	if image == nil {
		r.nameless[m.Path]++
		return label, false
	}
	if at, ok := image.Address(addr - m.Start + m.Offset); ok {
		name = image.Find(at)
	}
	if name == "" {
		if name = label; image.Stripped {
			r.nameless[m.Path]++
		}
	}
	// V8's own routines, which are in its file, keep frame pointers whatever the C++ code does
	chained = image.FramePointers || strings.HasPrefix(name, "Builtins_")
	if !chained {
		r.shortened[m.Path]++
	}
	return name, chained
}

// baseName returns the name of a file without its folder.
func baseName(path string) string { return printable.Text(filepath.Base(path)) }

// isFile reports whether a mapping's path is that of a file, and not of memory.
func isFile(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "/memfd:")
}

// compiledFrame returns the name of code that was compiled at run time.
func (r *resolver) compiledFrame(pid int, addr uint64, maps []sampler.Mapping) string {
	t, ok := r.compiled[pid]
	if !ok {
		askJVM(pid, maps)
		t, _ = symbol.ReadPerfMap(pid) // an error means that there is no map
		r.compiled[pid] = t
	}
	if t != nil {
		if name := t.Find(addr); name != "" {
			return name
		}
	}
	if t == nil {
		r.unmapped++
	}
	return anonymousCode
}

// image returns the tables of the file of a mapping; nil if they cannot be read. Another file may
// have the path of a deleted one, as after a build.
func (r *resolver) image(pid int, m sampler.Mapping) *symbol.Image {
	key := m.Path
	if m.Deleted {
		key += " (deleted)"
	}
	image, ok := r.images[key]
	if !ok {
		var err error
		switch image, err = symbol.ReadImage(imageFile(pid, m)); {
		case err != nil && m.Deleted:
			image = nil
		case err != nil:
			image, _ = symbol.ReadImage(m.Path) // the process has ended
		}
		r.images[key] = image
	}
	return image
}

// imageFile returns where the file of a mapping of a living process is read.
func imageFile(pid int, m sampler.Mapping) string {
	if m.Deleted {
		return fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End)
	}
	return fmt.Sprintf("/proc/%d/root%s", pid, m.Path)
}

// notes says what could not be named, and how it can be.
func (r *resolver) notes() (all []string) {
	for _, file := range r.frequent(r.nameless) {
		all = append(all, fmt.Sprintf("%s has no symbol table, so its own functions have no names: link it without -s, or install its debug symbols", baseName(file)))
	}
	for _, file := range r.frequent(r.shortened) {
		all = append(all, fmt.Sprintf("%s was compiled without frame pointers, so callers in it are unknown: compile it with -fno-omit-frame-pointer (Rust: -C force-frame-pointers=yes)", baseName(file)))
	}
	if 100*r.unmapped >= r.samples && r.unmapped > 0 {
		all = append(all, "code compiled at run time has no names: start Node with --perf-basic-prof; a JVM from version 17 on is asked for its map by jcmd, if that is installed")
	}
	return all
}

// frequent returns the files that are in at least 1 % of the samples.
func (r *resolver) frequent(counts map[string]int) (files []string) {
	for file, n := range counts {
		if 100*n >= r.samples {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
}
