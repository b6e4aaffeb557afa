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
	var said head
	cmd := s.tool(ctx, s.VersionCmd)
	cmd.Stdout = &said
	if err := s.runTool(cmd); err != nil {
		return ""
	}
	return firstLine(string(said.kept))
}
