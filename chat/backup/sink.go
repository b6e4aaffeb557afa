package backup

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/durable"
)

// sink is the destination of a copy. It has a temporary name until the copy is complete.
type sink interface {
	put(name string, mode fs.FileMode, size int64, r io.Reader) (int64, error)
	close() error // syncs everything to disk
	name() string
}

// isTar reports whether a copy of this name is a tar file; isGzip whether it is compressed.
func isTar(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".tar") || strings.HasSuffix(name, ".tgz")
}

func isGzip(name string) bool { return strings.HasSuffix(name, "gz") }

func newSink(to string) (sink, error) {
	dir, base := filepath.Split(filepath.Clean(to))
	if dir == "" {
		dir = "."
	}
	if !isTar(to) {
		name, err := os.MkdirTemp(dir, "."+base+".partial-*")
		return &folder{root: name}, err
	}
	// keeps the file extension, which determines the format
	f, err := os.CreateTemp(dir, ".partial-*-"+base)
	if err != nil {
		return nil, err
	}
	a := &archive{f: f, w: tar.NewWriter(f)}
	if isGzip(to) {
		a.z = gzip.NewWriter(f)
		a.w = tar.NewWriter(a.z)
	}
	return a, nil
}

// archive is a sink that writes a tar file.
type archive struct {
	f *os.File
	z *gzip.Writer // nil: not compressed
	w *tar.Writer
}

func (a *archive) name() string { return a.f.Name() }

func (a *archive) put(name string, mode fs.FileMode, size int64, r io.Reader) (int64, error) {
	if err := a.w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode), Size: size}); err != nil {
		return 0, err
	}
	return io.Copy(a.w, r)
}

func (a *archive) close() error {
	err := a.w.Close()
	if a.z != nil {
		err = errors.Join(err, a.z.Close())
	}
	return errors.Join(err, a.f.Sync(), a.f.Close())
}

// folder is a sink that writes a folder.
type folder struct {
	root string
	dirs []string
}

func (d *folder) name() string { return d.root }

func (d *folder) put(name string, mode fs.FileMode, _ int64, r io.Reader) (int64, error) {
	file := filepath.Join(d.root, filepath.FromSlash(name))
	if dir := filepath.Dir(file); len(d.dirs) == 0 || d.dirs[len(d.dirs)-1] != dir {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return 0, err
		}
		d.dirs = append(d.dirs, dir)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o700)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, r)
	return n, errors.Join(err, f.Sync(), f.Close())
}

func (d *folder) close() error {
	for _, dir := range append(d.dirs, d.root) {
		if err := durable.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
