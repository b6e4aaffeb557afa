package chat

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"weir/internal/disk"
	"weir/internal/durable"
)

// saveNetworksEvery is how often the file of known networks is written if it has changed.
const saveNetworksEvery = time.Minute

func (s *Service) networksPath() string { return filepath.Join(s.dataDir, "networks") }

// readNetworks reads the file of known networks. It ignores malformed lines and unknown accounts.
func (s *Service) readNetworks() {
	files := durable.Files{Disk: s.opened.Disk}
	err := files.RemoveTempOf(s.networksPath())
	data, failed := disk.ReadFile(s.opened.Disk, s.networksPath())
	if errors.Is(failed, os.ErrNotExist) {
		failed = nil
	}
	if err := errors.Join(err, failed); err != nil {
		s.opened.Log.Warn("the networks of accounts cannot be read", "error", err)
	}
	s.withLock(func() { s.core.AddKnownNetworks(data) })
}

// saveNetworks writes the file of known networks if there is a new one. After a failure the next
// call tries again. It takes mu.
func (s *Service) saveNetworks() {
	var text []byte
	if s.withLock(func() { text = s.core.ChangedNetworks() }); text == nil {
		return
	}
	if err := (durable.Files{Disk: s.opened.Disk}).ReplaceFile(s.networksPath(), text, 0o600); err != nil {
		s.opened.Log.Error("the networks of accounts cannot be written", "error", err)
		s.withLock(s.core.KeepNetworksChanged)
	}
}
