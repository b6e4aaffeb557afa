package main

import (
	"context"
	"errors"
)

type portabilityCmd struct{}

func (c *portabilityCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }
