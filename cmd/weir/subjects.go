package main

import (
	"context"
	"errors"
)

type listCmd struct{}

func (c *listCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }

type buildCmd struct{}

func (c *buildCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }

type checkCmd struct{}

func (c *checkCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }

type portabilityCmd struct{}

func (c *portabilityCmd) Run(ctx context.Context, t *terminal) error { return errors.New("not written yet") }
