package main

import (
	"context"
	"errors"
)

type reportCmd struct{}

func (c *reportCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }
