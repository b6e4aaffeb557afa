package main

import (
	"context"
	"errors"
)

type loadCmd struct{}

func (c *loadCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }
