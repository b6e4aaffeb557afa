package gate

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// The elements of a JUnit report that continuous integration reads.
type (
	testSuite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"` // seconds
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Time    string   `xml:"time,attr"`
		Failure *problem `xml:"failure"`
		Error   *problem `xml:"error"`
		Skipped *problem `xml:"skipped"`
		Out     string   `xml:"system-out,omitempty"`
	}
	problem struct {
		Message string `xml:"message,attr"`
	}
)

// JUnit returns the outcome as a JUnit report: a test for each metric. A metric that is worse is a
// failure, one that is undecided an error, and one that is not judged is skipped. If the A/A control
// differs, each judged metric is undecided.
func (o *Outcome) JUnit() ([]byte, error) {
	s := testSuite{Name: "weir lab gate", Tests: len(o.Metrics), Time: fmt.Sprintf("%.3f", o.TookS)}
	for _, j := range o.Metrics {
		c := testCase{Name: j.Title, Class: "gate", Time: "0", Out: j.sentence(o)}
		switch {
		case !j.Judged:
			c.Skipped = &problem{"it is listed, and not judged"}
			s.Skipped++
		case j.Verdict == Worse && o.Verdict == Worse:
			c.Failure = &problem{"worse: " + j.sentence(o)}
			s.Failures++
		case j.Verdict != NoWorse || o.Control.Verdict == different:
			c.Error = &problem{strings.TrimSuffix("undecided: "+j.sentence(o)+": "+o.Reason, ": ")}
			s.Errors++
		}
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

// ErrorJUnit returns the JUnit report of a gate without an outcome: one test with an error.
func ErrorJUnit(err error) []byte {
	s := testSuite{Name: "weir lab gate", Tests: 1, Errors: 1, Time: "0", Cases: []testCase{{Name: "gate", Class: "gate", Time: "0", Error: &problem{err.Error()}}}}
	text, bad := xml.MarshalIndent(s, "", "  ")
	if bad != nil {
		panic(bad) // the types are fixed: cannot fail
	}
	return append([]byte(xml.Header), append(text, '\n')...)
}
