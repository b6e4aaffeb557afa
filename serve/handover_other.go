//go:build !linux

package serve

import "net"

func (s *stream) detach(func() bool) (int, bool) { return 0, false }

func (*stream) canMove() bool { return false }

func (m *MovedConn) conn() (net.Conn, error) { return nil, errLinux }
