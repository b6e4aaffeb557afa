package report

import "weir/lab/result"

// notesBlock is what this run could not find out, each reason once however many subjects it holds
// for; empty if there is nothing to say.
func (d *digest) notesBlock() []block {
	var items []string
	for i, n := range d.Notes {
		var subjects []string
		first := true
		for k, other := range d.Notes {
			if other.What != n.What || other.Why != n.Why {
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
	return []block{{Items: items}}
}

func noteText(n result.Note, subjects []string) string {
	s := "Not found out here: " + n.What
	if len(subjects) > 0 {
		s += " of " + list(subjects)
	}
	return s + ". " + upper(n.Why)
}
