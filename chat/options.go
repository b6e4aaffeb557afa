package chat

import (
	"time"
	"weir/chat/core"
	"weir/internal/disk"
)

// Options configure a service. They are set before Open; only Configure changes them later. The
// zero value of a field selects its default.
type Options = core.Options

// STS is strict transport security: see [core.STS].
type STS = core.STS

// Configure replaces the options of a running service; later commands and replies follow the new
// ones. Name, Network, Disk, Now, Log and OnCommit keep their values from Open. MaxConnections and
// MaxRooms cannot exceed theirs from Open, because queues have that capacity. Kept names the
// changes of these four that were not applied. After an error the options are unchanged.
func (s *Service) Configure(o Options) (kept []string, err error) {
	if o, err = withDefaults(o); err != nil {
		return nil, err
	}
	if err := s.accounts.SetRegistration(o.Registration); err != nil {
		return nil, err
	}
	for _, word := range []struct {
		name      string
		now, then *string
	}{{"Name", &o.Name, &s.opened.Name}, {"Network", &o.Network, &s.opened.Network}} {
		if *word.now != *word.then {
			kept, *word.now = append(kept, word.name), *word.then
		}
	}
	for _, limit := range []struct {
		name      string
		now, then *int
	}{{"MaxConnections", &o.MaxConnections, &s.opened.MaxConnections}, {"MaxRooms", &o.MaxRooms, &s.opened.MaxRooms}} {
		if *limit.now > *limit.then { // the queues have this capacity
			kept, *limit.now = append(kept, limit.name), *limit.then
		}
	}
	o.Disk, o.Now, o.Log, o.OnCommit = s.opened.Disk, s.opened.Now, s.opened.Log, s.opened.OnCommit
	s.withLock(func() { s.core.Configure(&o) })
	return kept, nil
}

// withDefaults returns options without zero fields, or says which one is invalid.
func withDefaults(o Options) (Options, error) {
	o.Disk = disk.Or(o.Disk)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnCommit == nil {
		o.OnCommit = func(time.Duration, error) {}
	}
	return o.WithDefaults()
}
