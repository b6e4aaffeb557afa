package report

// publishedRow is a row of the table in Rodriguez Fernandez, "An experimental comparison of the
// performance between different web concurrency paradigms": mean CPU usage in % of a core, and
// standard deviation over mean, of a C server with a process per connection and a Go server with a
// goroutine per connection.
type publishedRow struct {
	connections int
	c, goLang   publishedPair
}

type publishedPair struct{ percent, cv float64 }

var published = []publishedRow{
	{1, publishedPair{0.34, 0.159}, publishedPair{1.94, 0.169}},
	{2, publishedPair{0.45, 0.221}, publishedPair{2.61, 0.205}},
	{4, publishedPair{0.79, 0.228}, publishedPair{4.35, 0.172}},
	{8, publishedPair{1.37, 0.137}, publishedPair{6.15, 0.276}},
	{16, publishedPair{2.17, 0.147}, publishedPair{11.71, 0.229}},
	{32, publishedPair{2.53, 0.172}, publishedPair{22.71, 0.322}},
	{64, publishedPair{2.53, 0.180}, publishedPair{36.08, 0.243}},
}

// Subjects with the concurrency models and languages of the published figures, in order of
// preference: the published programs first.
var (
	publishedC  = []string{"published-c", "c-fork", "chat-chatd"}
	publishedGo = []string{"published-go", "go-goroutine", "chat-weir-goroutine"}
)

// publishedFor returns the published figures that correspond to a subject at a number of
// connections.
func (d *digest) publishedFor(subject string, connections int) (publishedPair, bool) {
	for _, row := range published {
		switch {
		case row.connections != connections:
		case subject == d.firstOf(publishedC):
			return row.c, true
		case subject == d.firstOf(publishedGo):
			return row.goLang, true
		}
	}
	return publishedPair{}, false
}

// firstOf returns the first of names that took part in the run, or "".
func (d *digest) firstOf(names []string) string {
	for _, n := range names {
		for _, g := range d.groups {
			if g.cell(n) != nil {
				return n
			}
		}
	}
	return ""
}

// asPublished reports whether the run has the published programs.
func (d *digest) asPublished() bool {
	return d.firstOf(publishedC) == publishedC[0] && d.firstOf(publishedGo) == publishedGo[0]
}
