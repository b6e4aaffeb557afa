package site

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir/web"
	"weir/web/components/files"
)

// servedFolder is the folder of a component files.
type servedFolder struct {
	dir      string
	dotfiles bool
	at       hcl.Range
}

// makeFiles makes the component files.
func makeFiles(b *block, c files.Config) (web.Component, error) {
	b.served = append(b.served, servedFolder{c.Dir, c.Dotfiles, b.TypeRange})
	return files.New(c)
}

// contains reports whether clients can request a file or folder, or what is in it.
func (s servedFolder) contains(name string) bool {
	dir, errDir := filepath.Abs(s.dir)
	name, errName := filepath.Abs(name)
	below, err := filepath.Rel(dir, name)
	if errDir != nil || errName != nil || err != nil || below == ".." || strings.HasPrefix(below, "../") {
		return false
	}
	return s.dotfiles || below == "." || !strings.HasPrefix(below, ".") && !strings.Contains(below, "/.")
}

// checkKeys reports private keys in folders that are served. The key of the local authority is an
// error. Others are a trouble, since the file may have been served for long, and a route before the
// folder may keep clients away.
func (l *loader) checkKeys(s *Site) {
	for _, folder := range l.served {
		for _, service := range s.Services {
			for _, t := range service.TLS {
				l.checkKey(folder, t)
			}
		}
	}
}

func (l *loader) checkKey(folder servedFolder, t TLS) {
	private := t.Key
	if len(t.ACME) > 0 {
		private = t.StoreDir()
	}
	if t.SelfSigned {
		if key := t.local().KeyFile(); folder.contains(key) {
			l.addError(folder.at, "Private key in a served folder", fmt.Sprintf("Clients could request %s, the key of self_signed, from the folder %s: set store to a folder elsewhere, or remove dotfiles.", key, folder.dir))
		}
		return
	}
	if folder.contains(private) {
		l.reportTrouble("key "+private, fmt.Sprintf("%s:%d: clients may request the private keys in %s, because files serves the folder %s: move the keys elsewhere",
			folder.at.Filename, folder.at.Start.Line, private, folder.dir))
	}
}
