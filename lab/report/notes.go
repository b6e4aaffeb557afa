package report

import (
	"weir/lab/report/format"
	"weir/lab/result"
)

// notesBlock lists the explanations that were not available, each reason once with its subjects.
func (d *Digest) notesBlock() []Block {
	var items []string
	for i, n := range d.Notes {
		var subjects []string
		first := true
		for k, other := range d.Notes {
			if other.What != n.What || other.Reason != n.Reason {
				continue
			}
			first = first && k >= i
			if other.Subject != "" {
				subjects = append(subjects, other.Subject)
			}
		}
		if first {
			items = append(items, noteText(n, subjects))
		}
	}
	if len(items) == 0 {
		return nil
	}
	return []Block{{Items: items}}
}

func noteText(n result.Note, subjects []string) string {
	s := "Not available on this machine: " + n.What
	if len(subjects) > 0 {
		s += " for " + format.List(subjects)
	}
	return s + ". " + format.Upper(n.Reason)
}
