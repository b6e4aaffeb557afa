package httpload

import (
	"cmp"
	"errors"
	"fmt"

	"weir/internal/printable"
	"weir/lab/load"
)

// times are the distributions beside those of all loads, by the names of their histograms.
var times = map[string]func(*Report) *Times{
	"connect":    func(r *Report) *Times { return &r.ConnectUS },
	"wait":       func(r *Report) *Times { return &r.WaitUS },
	"processing": func(r *Report) *Times { return &r.ProcessingUS },
	"total":      func(r *Report) *Times { return &r.TotalUS },
}

// Merge returns the report of one load that several generators offered at the same time, each a
// part of it with histograms: see load.Merge. Settings are those of the first report.
func Merge(reports ...Report) (all Report, err error) {
	if len(reports) == 0 {
		return all, nil
	}
	all = reports[0]
	all.Connections, all.Rate, all.Attempted, all.Unfinished, all.BodyBytes, all.Encoded, all.Opened, all.Stopped = 0, 0, 0, 0, 0, 0, 0, ""
	base := make([]load.Report, len(reports))
	for i, r := range reports {
		if err := r.check(); err != nil {
			return all, fmt.Errorf("load: report %d: %w", i, err)
		}
		base[i] = r.Report
		all.Connections += r.Connections
		all.Rate += r.Rate
		all.Attempted += r.Attempted
		all.Unfinished += r.Unfinished
		all.BodyBytes += r.BodyBytes
		all.Encoded += r.Encoded
		all.Opened += r.Opened
		all.Stopped = cmp.Or(all.Stopped, r.Stopped)
	}
	if all.Report, err = load.Merge(base...); err != nil {
		return all, err
	}
	if err = all.mergeTimes(base); err != nil {
		return all, err
	}
	if all.Mix, err = mergeMix(reports); err != nil {
		return all, err
	}
	all.TLS, err = mergeTLS(reports, base)
	return all, err
}

// mergeTimes sets r's distributions of times to those of all reports.
func (r *Report) mergeTimes(base []load.Report) error {
	for name, of := range times {
		sum, err := load.SumHistograms(name, base...)
		if err != nil {
			return err
		}
		*of(r) = sum.Times()
		r.SetHistogram(name, sum)
	}
	if r.DueUS != (Times{}) {
		latency, err := load.SumHistograms("latency", base...)
		if err != nil {
			return err
		}
		r.DueUS = latency.Times()
	}
	return nil
}

// mergeMix returns what became of each described request in all reports.
func mergeMix(reports []Report) (all []MixReport, err error) {
	for i, r := range reports {
		if i == 0 && len(r.Mix) > 0 {
			all = make([]MixReport, len(r.Mix))
		}
		if len(r.Mix) != len(all) {
			return nil, fmt.Errorf("load: report %d has %d described requests, and the first %d", i, len(r.Mix), len(all))
		}
		for j, m := range r.Mix {
			a := &all[j]
			if total := a.Answered + m.Answered; total > 0 {
				a.LatencyMeanUS = (a.LatencyMeanUS*float64(a.Answered) + m.LatencyMeanUS*float64(m.Answered)) / float64(total)
			}
			a.Request = m.Request
			a.Answered += m.Answered
			a.Failed += m.Failed
			a.LatencyMaxUS = max(a.LatencyMaxUS, m.LatencyMaxUS)
		}
	}
	return all, nil
}

// mergeTLS returns the part about TLS; nil if there is none. All reports must have negotiated the
// same.
func mergeTLS(reports []Report, base []load.Report) (*TLSReport, error) {
	if reports[0].TLS == nil {
		return nil, nil
	}
	all := *reports[0].TLS
	all.Handshakes, all.Resumed = 0, 0
	for i, r := range reports {
		if r.TLS == nil || r.TLS.Text() != all.Text() {
			return nil, fmt.Errorf("load: report %d is of other parameters of TLS than the first", i)
		}
		all.Handshakes += r.TLS.Handshakes
		all.Resumed += r.TLS.Resumed
	}
	handshakes, err := load.SumHistograms("handshake", base...)
	all.HandshakeUS = handshakes.Times()
	return &all, err
}

// maxTLSText limits the name of a parameter of TLS, in bytes.
const maxTLSText = 256

// check returns an error for figures that no generator reports, beside those of all loads.
func (r *Report) check() error {
	counts := []int64{int64(r.Connections), r.Attempted, r.Unfinished, r.BodyBytes, r.Encoded, r.Opened}
	for _, m := range r.Mix {
		counts = append(counts, m.Answered, m.Failed)
		if !(m.LatencyMeanUS >= 0 && m.LatencyMaxUS >= 0 && max(m.LatencyMeanUS, m.LatencyMaxUS) < 1e12) {
			return fmt.Errorf("it has the latencies %g and %g us", m.LatencyMeanUS, m.LatencyMaxUS)
		}
	}
	if t := r.TLS; t != nil {
		counts = append(counts, t.Handshakes, t.Resumed)
		for _, text := range []string{t.Version, t.Cipher, t.KeyExchange, t.ALPN, t.ServerName} {
			if len(text) > maxTLSText || !printable.Is(text) {
				return errors.New("it has an invalid parameter of TLS")
			}
		}
	}
	return load.CheckCounts(counts...)
}
