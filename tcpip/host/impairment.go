package host

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/tcpip/link"
)

// impairField is a field of an impairment's text.
type impairField struct {
	name  string
	parse func(i *link.Impairment, text string) error
	text  func(i *link.Impairment) string // empty: zero
}

// impairFields are the fields in the order in which they are written.
var impairFields = []impairField{
	percentField("loss", func(i *link.Impairment) *float64 { return &i.Loss }),
	durationField("delay", func(i *link.Impairment) *time.Duration { return &i.Delay }),
	durationField("jitter", func(i *link.Impairment) *time.Duration { return &i.Jitter }),
	percentField("reorder", func(i *link.Impairment) *float64 { return &i.Reorder }),
	percentField("duplicate", func(i *link.Impairment) *float64 { return &i.Duplicate }),
	{"rate", parseRate, rateText},
}

// ImpairmentForms shows the syntax of an impairment.
const ImpairmentForms = "loss=1%,delay=20ms,jitter=5ms,reorder=1%,duplicate=1%,rate=10Mbit, or off"

// ParseImpairment parses impairments for both directions, in the form of ImpairmentForms. All
// fields are optional; "off" and the empty text mean none.
func ParseImpairment(text string) (link.Impairment, error) {
	var i link.Impairment
	if text == "off" || text == "" {
		return i, nil
	}
	said := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		f := fieldOf(name)
		if f == nil || said[name] {
			return i, fmt.Errorf("host: the impairment %q has an unknown or repeated part %q: use %s", text, part, ImpairmentForms)
		}
		said[name] = true
		if err := f.parse(&i, value); err != nil {
			return i, fmt.Errorf("host: the impairment's %s is %q: %w", name, value, err)
		}
	}
	return i, nil
}

func fieldOf(name string) *impairField {
	for n := range impairFields {
		if impairFields[n].name == name {
			return &impairFields[n]
		}
	}
	return nil
}

// ImpairmentText formats impairments for ParseImpairment.
func ImpairmentText(i link.Impairment) string {
	var all []string
	for _, f := range impairFields {
		if text := f.text(&i); text != "" {
			all = append(all, f.name+"="+text)
		}
	}
	if len(all) == 0 {
		return "off"
	}
	return strings.Join(all, ",")
}

func percentField(name string, of func(*link.Impairment) *float64) impairField {
	return impairField{name, func(i *link.Impairment, text string) error {
		percent, isPercent := strings.CutSuffix(text, "%")
		v, err := strconv.ParseFloat(percent, 64)
		if isPercent {
			v /= 100
		}
		if err != nil || !(v >= 0 && v <= 1) {
			return fmt.Errorf("use 0%% to 100%%, such as 1%%")
		}
		*of(i) = v
		return nil
	}, func(i *link.Impairment) string {
		if *of(i) == 0 {
			return ""
		}
		return strconv.FormatFloat(*of(i)*100, 'g', 6, 64) + "%"
	}}
}

func durationField(name string, of func(*link.Impairment) *time.Duration) impairField {
	return impairField{name, func(i *link.Impairment, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > time.Minute {
			return fmt.Errorf("use a time of at most a minute, such as 20ms")
		}
		*of(i) = d
		return nil
	}, func(i *link.Impairment) string {
		if *of(i) == 0 {
			return ""
		}
		return of(i).String()
	}}
}

// rateUnits are the units of a rate in bits a second, the largest first.
var rateUnits = []struct {
	unit string
	bits float64
}{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

func parseRate(i *link.Impairment, text string) error {
	for _, r := range rateUnits {
		if number, ok := strings.CutSuffix(text, r.unit); ok {
			v, err := strconv.ParseFloat(number, 64)
			if v *= r.bits; err == nil && v >= 1 && v <= 1e12 {
				i.Rate = int64(math.Round(v))
				return nil
			}
		}
	}
	return fmt.Errorf("use bits a second, such as 10Mbit or 500kbit")
}

func rateText(i *link.Impairment) string {
	for _, r := range rateUnits {
		if v := float64(i.Rate) / r.bits; v >= 1 {
			return strconv.FormatFloat(v, 'g', 6, 64) + r.unit
		}
	}
	return ""
}
