package main

import (
	"context"
	"errors"
)

type measureCmd struct{}

func (c *measureCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }
