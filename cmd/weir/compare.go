package main

import (
	"context"
	"errors"
)

type compareCmd struct{}

func (c *compareCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }
