package subject

import "context"

// version is the first line that the subject's version command prints, "" without such a command or
// an answer.
func (s *Subject) version() string {
	if len(s.VersionCmd) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkWithin)
	defer cancel()
	said, err := s.tool(ctx, s.VersionCmd).Output()
	if err != nil {
		return ""
	}
	return firstLine(string(said))
}
