package main

import (
	"context"
	"errors"
)

type runCmd struct{}

func (c *runCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }
