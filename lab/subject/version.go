package subject

import "context"

// version returns the first line of the output of the subject's version command; empty without such
// a command or if it fails.
func (s *Subject) version() string {
	if len(s.VersionCmd) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	said, err := s.tool(ctx, s.VersionCmd).Output()
	if err != nil {
		return ""
	}
	return firstLine(string(said))
}
