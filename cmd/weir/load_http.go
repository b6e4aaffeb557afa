package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"weir/lab/load"
	loadhttp "weir/lab/load/http"
)

type httpCmd struct {
	URL string `arg:"" name:"url" help:"http://HOST:PORT/PATH."`

	Connections    int            `short:"c" default:"64" help:"Connections; with --rate and --no-keep-alive how many may be under way at once."`
	Rate           float64        `placeholder:"R" help:"Requests a second in all, due evenly apart whatever the server does; without it each connection sends its next request when the last is answered."`
	Requests       int64          `short:"n" placeholder:"N" help:"End after so many requests (without --rate)."`
	Duration       *time.Duration `placeholder:"10s" help:"How long to measure."`
	NoKeepAlive    bool           `help:"A connection for each request."`
	Timeout        time.Duration  `default:"5s" help:"A request not answered within this has failed."`
	AcceptEncoding string         `placeholder:"gzip" enum:",gzip" default:"" help:"Accept bodies in gzip."`
	Expect         string         `placeholder:"FILE" help:"What every body must be; without it what the first one is."`
	MaxErrors      int64          `placeholder:"N" help:"Stop after so many failures."`
	CPUs           []int          `name:"cpus" placeholder:"N,..." help:"Run on these CPUs only."`
	JSON           bool           `name:"json" help:"Write the report as JSON."`
	Steer          bool           `help:"Write events as JSON lines and take commands from standard input."`
}

func (c *httpCmd) config() (loadhttp.Config, error) {
	config := loadhttp.Config{URL: c.URL, Connections: c.Connections, Rate: c.Rate, Requests: c.Requests, Close: c.NoKeepAlive, Timeout: c.Timeout,
		Gzip: c.AcceptEncoding == "gzip", MaxErrors: c.MaxErrors, CPUs: c.CPUs}
	if c.Duration != nil {
		config.Duration = *c.Duration
	} else if c.Requests == 0 {
		config.Duration = 10 * time.Second
	}
	if c.Expect == "" {
		return config, nil
	}
	var err error
	if config.Expect, err = os.ReadFile(c.Expect); err != nil {
		return config, usageError{fmt.Errorf("load: can't read what to expect: %w", err)}
	}
	return config, nil
}

func (c *httpCmd) Run(ctx context.Context, t *terminal) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if c.Steer {
		return asUsage(loadhttp.Steer(ctx, config, os.Stdin, t.out))
	}
	report, err := loadhttp.Run(ctx, config, load.Events{})
	if report.WindowNS > 0 {
		err = errors.Join(err, t.json(&report))
	}
	if err == nil && len(report.Errors) > 0 {
		err = fmt.Errorf("load: requests failed: %s", report.Trouble())
	}
	return asUsage(err)
}
