package netsim

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"time"
)

//go:embed report.tmpl
var pageSource string

//go:embed report.css
var pageStyle string

//go:embed report.js
var pageScript string

// pagePolicy lets the page run its own script only, and load nothing.
func pagePolicy() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is what the template of the report shows. All of it is text of the test.
type page struct {
	Test, Command string
	Seed          uint64
	Failures      []pageNote
	MoreFailures  int // that are not shown
	Repeatable    bool
	Unrepeated    string // why it was not repeated
	Unlinked      string // which hosts have no link
	FaultsText    string
	OtherText     string // of the failure with the needed faults alone
	Faults        []pageFault
	LeftOut       string
	Hosts         []*reportedHost
	Forgotten     int // events
	Notes         []pageNote
	MoreNotes     int
	Diagram       diagram
}

// pageNote is a note.
type pageNote struct {
	At                time.Duration
	Kind, Text, Where string
}

// pageFault is a fault of World.At or World.Chaos.
type pageFault struct {
	Needed, Text, Where string
	At                  time.Duration
}

// maxFailures and maxNotes limit the page.
const maxFailures, maxNotes = 20, 2000

// page returns the page of the report.
func (w *World) page(test string, o outcome, hosts []*reportedHost) ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"policy": pagePolicy,
		"style":  func() template.CSS { return template.CSS(pageStyle) },
		"script": func() template.JS { return template.JS(pageScript) },
	}).Parse(pageSource)
	if err != nil {
		return nil, err
	}
	rec := w.recorded()
	p := page{Test: test, Command: command(test, w.seed), Seed: w.seed, Repeatable: o.repeatable, Unrepeated: rec.unrepeated, Unlinked: rec.unlinkedText(), FaultsText: o.neededText(len(rec.faults)), OtherText: rec.otherText(o), Hosts: hosts, Diagram: w.draw(o)}
	p.Failures, p.MoreFailures = pageNotes(rec.failures, maxFailures)
	p.Notes, p.MoreNotes = pageNotes(rec.notes, maxNotes)
	p.Faults = pageFaults(rec, o)
	_, p.Forgotten = w.trace.all()
	if d := p.Diagram; d.Before+d.After > 0 {
		p.LeftOut = fmt.Sprintf("The diagram shows %d packets around the first failure; %d earlier and %d later ones are left out, and are in the captures.", len(d.Arrows), d.Before, d.After)
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

// neededText says how many of the faults are needed.
func (o outcome) neededText(all int) string {
	switch needed := len(o.needed); {
	case needed == 0:
		return "The test fails without them, too."
	case !o.minimal:
		return fmt.Sprintf("The test fails with %d of %d, and perhaps with fewer: %s.", needed, all, unfinished)
	case needed == 1:
		return fmt.Sprintf("1 of %d is needed: the test fails with this fault alone, and not without it.", all)
	case needed == all:
		return fmt.Sprintf("All %d are needed: without any one of them, the test does not fail in this way.", all)
	default:
		return fmt.Sprintf("%d of %d are needed: the test fails with these alone, and not without any one of them.", needed, all)
	}
}

// pageNotes returns the first notes of a list, and how many more there are.
func pageNotes(notes []entry, limit int) (all []pageNote, more int) {
	for _, n := range notes[:min(len(notes), limit)] {
		all = append(all, pageNote{At: n.At, Kind: n.Kind.String(), Text: n.Text, Where: n.Where})
	}
	return all, len(notes) - len(all)
}

func pageFaults(rec record, o outcome) (all []pageFault) {
	needed := map[int]bool{}
	for _, n := range o.needed {
		needed[n] = true
	}
	for n, f := range rec.faults {
		p := pageFault{At: f.At, Where: f.Where, Text: rec.effectOf(n), Needed: "not needed"}
		switch {
		case !o.repeatable:
			p.Needed = "unknown"
		case needed[n]:
			p.Needed, p.Text = "needed", o.smallest.effectOf(n)
		}
		all = append(all, p)
	}
	return all
}
