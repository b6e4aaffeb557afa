//go:build !linux

package serve

import "errors"

type sendRing struct{}

func newSendRing() (*sendRing, error) { return nil, errors.ErrUnsupported }

func (*sendRing) close() {}

func (f *Fanout) sendByRing([]Outgoing) {}
